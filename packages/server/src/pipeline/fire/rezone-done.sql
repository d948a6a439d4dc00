-- Every cursor of these partitions is right by this zone data. By epoch: whoever owns a partition now may have other data.
-- Touches no key column, so it waits for no fire and holds up none.
-- @param owner bigint
-- @param partitions smallint[]
-- @param epochs bigint[]
-- @param zone_data text
WITH mine AS MATERIALIZED (
  SELECT p.partition
  FROM carillon.partitions p
  JOIN unnest(:partitions, :epochs) AS held (partition, epoch) USING (partition, epoch)
  WHERE p.owner = :owner
  ORDER BY p.partition
  FOR NO KEY UPDATE OF p
)
UPDATE carillon.partitions p
SET zone_data = :zone_data
FROM mine
WHERE p.partition = mine.partition
RETURNING p.partition, p.epoch
