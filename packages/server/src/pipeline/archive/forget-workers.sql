-- Forgets workers over HTTP that ended some time ago and hold nothing any more: each restart of such a worker leaves a row,
-- and their number is not ours to bound. The history keeps their names. Lock: the rows, SKIP LOCKED. Plain scan of a small table.
-- @param retention_ms bigint
-- @param most int
WITH old AS MATERIALIZED (
  SELECT incarnation
  FROM carillon.incarnations
  WHERE tenant IS NOT NULL AND rescued_at IS NOT NULL AND ended_at <= carillon.now_ms() - :retention_ms
  ORDER BY ended_at
  LIMIT :most
  FOR UPDATE SKIP LOCKED
)
DELETE FROM carillon.incarnations i
USING old
WHERE i.incarnation = old.incarnation
RETURNING i.incarnation
