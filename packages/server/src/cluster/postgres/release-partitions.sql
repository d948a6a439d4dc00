-- Gives partitions back, so that the next owner need not wait for the lease to end. By epoch: a release that was long
-- under way must not give back what was taken again meanwhile. The epoch stays: taking raises it.
-- @param incarnation bigint
-- @param partitions smallint[]
-- @param epochs bigint[]
WITH mine AS MATERIALIZED (
  SELECT p.partition
  FROM carillon.partitions p
  JOIN unnest(:partitions, :epochs) AS held (partition, epoch) USING (partition, epoch)
  WHERE p.owner = :incarnation
  ORDER BY p.partition
  FOR NO KEY UPDATE OF p
)
UPDATE carillon.partitions p
SET owner = NULL, expires_at = 0
FROM mine
WHERE p.partition = mine.partition
RETURNING p.partition
