-- Dead letters by what their errors say, the largest group first. Reads all of the tenant's, or of one job: asked for by
-- a person after an incident. Plain read. Index: dead_letters_alike, or dead_letters_by_job.
-- @plan each-time
-- @param tenant int
-- @param job bigint
-- @param most int
WITH alike AS MATERIALIZED (
  SELECT d.fingerprint, count(*)::int AS letters, count(DISTINCT d.job)::int AS jobs, min(d.dead_at) AS first_dead_at,
         max(d.dead_at) AS last_dead_at
  FROM carillon.dead_letters d
  WHERE d.tenant = :tenant AND (:job IS NULL OR d.job = :job)
  GROUP BY d.fingerprint
  ORDER BY count(*) DESC, d.fingerprint
  LIMIT :most
)
SELECT alike.*, carillon.error_pattern(last.reason, last.error) AS pattern, last.reason, last.error, last.due, last.job,
       last.origin, last.seq, last.partition
FROM alike CROSS JOIN LATERAL (
  SELECT d.due, d.job, d.origin, d.seq, d.partition, d.reason, d.error
  FROM carillon.dead_letters d
  WHERE d.tenant = :tenant AND d.fingerprint = alike.fingerprint AND (:job IS NULL OR d.job = :job)
  ORDER BY d.dead_at DESC
  LIMIT 1
) last
ORDER BY alike.letters DESC, alike.fingerprint
