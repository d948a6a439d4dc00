-- Forgets requests that are done or refused, when no second one with their key is to be expected any more.
-- Lock: the rows, SKIP LOCKED. Index: outbox_old.
-- @param retention_ms bigint
-- @param most int
WITH old AS MATERIALIZED (
  SELECT entry
  FROM carillon.outbox
  WHERE (done_at IS NOT NULL OR refused_at IS NOT NULL) AND created_at <= carillon.now_ms() - :retention_ms
  ORDER BY created_at
  LIMIT :most
  FOR UPDATE SKIP LOCKED
)
DELETE FROM carillon.outbox o USING old WHERE o.entry = old.entry
RETURNING o.entry
