-- Extends the leases that are still mine, by epoch, and have not ended: a late renewal is a loss, even where nobody has
-- taken the partition yet. What does not come back is lost. Touches no key column, so it waits for no fire and holds up none.
-- @param incarnation bigint
-- @param partitions smallint[]
-- @param epochs bigint[]
-- @param ttl_ms bigint
WITH mine AS MATERIALIZED (
  SELECT p.partition
  FROM carillon.partitions p
  JOIN unnest(:partitions, :epochs) AS held (partition, epoch) USING (partition, epoch)
  JOIN carillon.incarnations i ON i.incarnation = p.owner AND i.state = 'alive'
  WHERE p.owner = :incarnation AND p.expires_at > carillon.now_ms()
  ORDER BY p.partition
  FOR NO KEY UPDATE OF p
)
UPDATE carillon.partitions p
SET expires_at = carillon.now_ms() + :ttl_ms
FROM mine
WHERE p.partition = mine.partition
RETURNING p.partition, p.epoch
