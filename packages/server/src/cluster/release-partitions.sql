-- Gives partitions back, so that the next owner need not wait for the lease to end. The epoch stays: taking raises it.
-- @param incarnation bigint
-- @param partitions smallint[]
WITH mine AS MATERIALIZED (
  SELECT partition FROM carillon.partitions
  WHERE owner = :incarnation AND partition = ANY (:partitions)
  ORDER BY partition
  FOR NO KEY UPDATE
)
UPDATE carillon.partitions p
SET owner = NULL, expires_at = 0
FROM mine
WHERE p.partition = mine.partition
RETURNING p.partition
