-- A page of the live jobs that name a calendar, by key. Plain read: what is done about them looks again under lock.
-- Index: jobs_excluding.
-- @param tenant int
-- @param name text
-- @param after_job bigint
-- @param most int
SELECT job, name
FROM carillon.jobs
WHERE tenant = :tenant AND state IN ('active', 'paused') AND definition -> 'exclude' <> '[]'
  AND definition -> 'exclude' ? :name AND job > :after_job
ORDER BY job
LIMIT :most
