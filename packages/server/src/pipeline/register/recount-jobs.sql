-- Sets a tenant's counter to the live jobs that it has. Runs in the transaction of lock-job-count.sql and
-- close-job-count.sql and after them: whoever creates or revives a job needs one of these locks, so that all who did have committed before this statement's snapshot, and whoever
-- ends one meanwhile makes the number too high, never too low. Index: jobs_live_name (tenant, name), alone.
-- @param tenant int
UPDATE carillon.tenant_jobs
SET jobs = (SELECT count(*) FROM carillon.jobs WHERE tenant = :tenant AND state IN ('active', 'paused'))
WHERE tenant = :tenant
RETURNING jobs
