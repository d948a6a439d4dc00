-- Takes partitions that nobody holds: never owned, given back, expired, or held by a process that is no longer alive.
-- Raises the epoch: the change of a key column waits for fires in progress under the old epoch, which hold the row
-- FOR KEY SHARE. SKIP LOCKED instead of waiting: the next pass comes soon. Ordered by key against deadlocks.
-- @param incarnation bigint
-- @param wanted smallint[]
-- @param ttl_ms bigint
WITH free AS MATERIALIZED (
  SELECT p.partition
  FROM carillon.partitions p
  LEFT JOIN carillon.incarnations i ON i.incarnation = p.owner
  WHERE p.partition = ANY (:wanted)
    AND (p.owner IS NULL OR p.expires_at <= carillon.now_ms() OR i.state IS DISTINCT FROM 'alive')
    AND EXISTS (SELECT FROM carillon.incarnations me WHERE me.incarnation = :incarnation AND me.state = 'alive')
  ORDER BY p.partition
  FOR UPDATE OF p SKIP LOCKED
)
UPDATE carillon.partitions p
SET epoch = greatest(p.epoch + 1, carillon.timeline_base()),
    owner = :incarnation,
    taken_at = carillon.now_ms(),
    expires_at = carillon.now_ms() + :ttl_ms
FROM free
WHERE p.partition = free.partition
RETURNING p.partition, p.epoch
