-- Dead letters, the latest first. A page ends at the death and the identity of its last row. Plain read.
-- Index: dead_letters_latest, dead_letters_latest_of_job or dead_letters_alike; jobs' primary key.
-- @plan each-time
-- @param tenant int
-- @param job bigint
-- @param fingerprint text
-- @param before_dead_at bigint
-- @param before_due bigint
-- @param before_job bigint
-- @param before_origin smallint
-- @param before_seq int
-- @param most int
SELECT d.due, d.job, d.origin, d.seq, d.partition, d.version, d.attempts, d.max_attempts, d.round, d.catch_up, d.reason,
       d.error, d.fingerprint, d.dead_at, d.payload IS NOT NULL AS own_payload, j.id::text AS uuid, j.name
FROM carillon.dead_letters d
JOIN carillon.jobs j ON j.job = d.job
WHERE d.tenant = :tenant AND (:job IS NULL OR d.job = :job) AND (:fingerprint IS NULL OR d.fingerprint = :fingerprint)
  AND d.dead_at <= :before_dead_at
  AND (d.dead_at, d.due, d.job, d.origin, d.seq)
      < (:before_dead_at, :before_due, :before_job, :before_origin, :before_seq)
ORDER BY d.dead_at DESC, d.due DESC, d.job DESC, d.origin DESC, d.seq DESC
LIMIT :most
