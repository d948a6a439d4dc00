-- Forgets answers that were kept under idempotency keys long enough, oldest first, in small batches.
-- Index: idempotency_keys_old.
-- @param retention_ms bigint
-- @param most int
WITH old AS MATERIALIZED (
  SELECT tenant, key
  FROM carillon.idempotency_keys
  WHERE created_at <= carillon.now_ms() - :retention_ms
  ORDER BY created_at
  LIMIT :most
  FOR UPDATE SKIP LOCKED
)
DELETE FROM carillon.idempotency_keys k
USING old
WHERE k.tenant = old.tenant AND k.key = old.key
RETURNING k.key
