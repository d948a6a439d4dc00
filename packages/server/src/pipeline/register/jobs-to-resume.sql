-- Paused jobs whose pause is over, a page in the order of their ends. Plain read: resuming looks again under the lock.
-- Index: jobs_to_resume.
-- @param after_until bigint
-- @param after_job bigint
-- @param most int
SELECT job, tenant, id AS uuid, paused_until
FROM carillon.jobs
WHERE paused_until <= carillon.now_ms() AND (paused_until, job) > (:after_until, :after_job)
ORDER BY paused_until, job
LIMIT :most
