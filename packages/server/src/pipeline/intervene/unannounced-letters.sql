-- Jobs that have dead letters and no open event that says so. A loose scan of the index: one step per job, however many
-- letters it has. Plain read. Index: dead_letters_latest_of_job, alerts_open, jobs' primary key.
-- @param most int
WITH RECURSIVE lettered AS (
  (SELECT d.job FROM carillon.dead_letters d ORDER BY d.job LIMIT 1)
  UNION ALL
  SELECT (SELECT d.job FROM carillon.dead_letters d WHERE d.job > lettered.job ORDER BY d.job LIMIT 1)
  FROM lettered
  WHERE lettered.job IS NOT NULL
)
SELECT j.id::text AS uuid, j.tenant, j.name, last.reason, last.error, last.dead_at
FROM lettered
JOIN carillon.jobs j ON j.job = lettered.job
CROSS JOIN LATERAL (
  SELECT d.reason, d.error, d.dead_at FROM carillon.dead_letters d WHERE d.job = j.job ORDER BY d.dead_at DESC LIMIT 1
) last
WHERE NOT EXISTS (
  SELECT FROM carillon.alerts a
  WHERE a.resolved_at IS NULL AND coalesce(a.tenant, 0) = j.tenant AND a.fingerprint = 'dead_letter:' || j.id
)
ORDER BY last.dead_at
LIMIT :most
