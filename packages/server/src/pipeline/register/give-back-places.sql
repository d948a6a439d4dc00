-- Takes off a tenant's counter what create-jobs.sql was granted and did not use, because names were taken. Not where the
-- jobs were counted since: that number is right already. Lost with its process it is found by the next count.
-- Index: tenant_jobs_pkey.
-- @param tenant int
-- @param places int
-- @param recounted_at bigint
UPDATE carillon.tenant_jobs SET jobs = greatest(0, jobs - :places)
WHERE tenant = :tenant AND recounted_at = :recounted_at
RETURNING jobs
