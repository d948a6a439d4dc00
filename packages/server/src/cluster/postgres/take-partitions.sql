-- Takes partitions that nobody holds: never owned, given back, expired, or held by a process that is no longer alive.
-- Or mine, though I do not know it: an answer was lost, or trust in a renewal was.
-- Raises the epoch: the change of a key column waits for fires in progress under the old epoch, which hold the row
-- FOR KEY SHARE. SKIP LOCKED instead of waiting: the next pass comes soon. Ordered by key against deadlocks.
-- The owner's state is asked for in a subquery, not joined: where somebody took the partition since the snapshot, the
-- check is done again on the new row, and an outer join would then find no owner and call the partition free.
-- @param incarnation bigint
-- @param wanted smallint[]
-- @param ttl_ms bigint
WITH free AS MATERIALIZED (
  SELECT p.partition
  FROM carillon.partitions p
  WHERE p.partition = ANY (:wanted)
    AND (p.owner IS NULL OR p.owner = :incarnation OR p.expires_at <= carillon.now_ms()
         OR EXISTS (SELECT FROM carillon.incarnations i WHERE i.incarnation = p.owner AND i.state <> 'alive'))
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
