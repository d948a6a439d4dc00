-- Forgets effects that were remembered long ago, oldest first, in small batches: as long as the history, so that an
-- attempt or a re-drive of a run that can still be looked at finds what was done. Index: effects_old.
-- @param retention_ms bigint
-- @param most int
WITH old AS MATERIALIZED (
  SELECT job, idempotency_key, effect, partition
  FROM carillon.effects
  WHERE created_at <= carillon.now_ms() - :retention_ms
  ORDER BY created_at
  LIMIT :most
  FOR UPDATE SKIP LOCKED
)
DELETE FROM carillon.effects e
USING old
WHERE e.job = old.job AND e.idempotency_key = old.idempotency_key AND e.effect = old.effect
  AND e.partition = old.partition
RETURNING e.job
