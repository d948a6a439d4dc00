-- The versions of a job, newest first, below one: the present one from jobs, those before it from job_versions. One
-- statement is one snapshot, so a version is in exactly one of the two. Plain read.
-- Index: jobs.id, job_versions' primary key, backwards.
-- @whole definition
-- @param tenant int
-- @param uuid uuid
-- @param before int
-- @param most int
WITH job AS MATERIALIZED (
  SELECT * FROM carillon.jobs
  WHERE tenant = :tenant AND id = :uuid AND state IN ('active', 'paused', 'ended', 'cancelled')
)
SELECT job.job, listed.version, listed.created_at, listed.reason, listed.definition, listed.current
FROM job
LEFT JOIN LATERAL (
  SELECT version, created_at, reason, definition, current
  FROM (
    SELECT job.version, job.updated_at AS created_at, job.version_reason AS reason, job.definition, true AS current
    WHERE job.version < :before
    UNION ALL
    (SELECT v.version, v.created_at, v.reason, v.definition, false
     FROM carillon.job_versions v
     WHERE v.job = job.job AND v.tenant = :tenant AND v.version < :before
     ORDER BY v.version DESC
     LIMIT :most)
  ) known
  ORDER BY version DESC
  LIMIT :most
) listed ON true
ORDER BY listed.version DESC
