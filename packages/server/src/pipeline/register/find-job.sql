-- The key behind a job's id, whatever has become of the job: its history answers after it is gone. Index: jobs.id.
-- @param tenant int
-- @param uuid uuid
SELECT job, partition, state FROM carillon.jobs WHERE tenant = :tenant AND id = :uuid
