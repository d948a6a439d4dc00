-- The key of a job that lives or ever lived, by its id. Plain read. Index: jobs.id.
-- @param tenant int
-- @param uuid uuid
SELECT j.job FROM carillon.jobs j WHERE j.tenant = :tenant AND j.id = :uuid
