-- Jobs that have dead letters and no open event that says so. A loose scan of the index: one step per job, however many
-- letters it has. What a person said is over stays so until there is a newer letter. Plain read. Index: dead_letters_latest_of_job, alerts_open, alerts_over, jobs' primary key.
-- @param most int
WITH RECURSIVE lettered AS (
  (SELECT d.job FROM carillon.dead_letters d ORDER BY d.job LIMIT 1)
  UNION ALL
  SELECT (SELECT d.job FROM carillon.dead_letters d WHERE d.job > lettered.job ORDER BY d.job LIMIT 1)
  FROM lettered
  WHERE lettered.job IS NOT NULL
)
SELECT j.id::text AS uuid, j.tenant, j.name, last.*
FROM lettered
JOIN carillon.jobs j ON j.job = lettered.job
CROSS JOIN LATERAL (
  SELECT d.due, d.job, d.origin, d.seq, d.partition, d.reason, d.error, d.dead_at
  FROM carillon.dead_letters d
  WHERE d.job = j.job
  ORDER BY d.dead_at DESC
  LIMIT 1
) last
WHERE NOT EXISTS (
  SELECT FROM carillon.alerts a
  WHERE a.resolved_at IS NULL AND coalesce(a.tenant, 0) = j.tenant AND a.fingerprint = 'dead_letter:' || j.id
)
AND NOT EXISTS (
  SELECT FROM carillon.alerts a
  WHERE a.resolved_at >= last.dead_at AND coalesce(a.tenant, 0) = j.tenant AND a.fingerprint = 'dead_letter:' || j.id
    AND a.resolved_by IS NOT NULL
)
ORDER BY last.dead_at
LIMIT :most
