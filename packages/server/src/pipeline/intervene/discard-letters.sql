-- Discards dead letters that match, at most so many in one statement. The ledger stays as it is.
-- Lock: the rows, SKIP LOCKED: one that is being re-driven is not waited for. Index: dead_letters_latest,
-- dead_letters_latest_of_job or dead_letters_alike; the primary key.
-- @plan each-time
-- @param tenant int
-- @param job bigint
-- @param fingerprint text
-- @param after bigint
-- @param before bigint
-- @param most int
WITH chosen AS MATERIALIZED (
  SELECT d.due, d.job, d.origin, d.seq, d.partition
  FROM carillon.dead_letters d
  WHERE d.tenant = :tenant AND (:job IS NULL OR d.job = :job) AND (:fingerprint IS NULL OR d.fingerprint = :fingerprint)
    AND d.dead_at >= :after AND d.dead_at < :before
  ORDER BY d.dead_at
  LIMIT :most
  FOR UPDATE OF d SKIP LOCKED
)
DELETE FROM carillon.dead_letters d
USING chosen c
WHERE d.due = c.due AND d.job = c.job AND d.origin = c.origin AND d.seq = c.seq AND d.partition = c.partition
RETURNING d.job
