-- Of my partitions, those whose cursors were computed with other zone data, or it is not known with which. Plain read of
-- at most 256 rows, once per partition and epoch.
-- @param partitions smallint[]
-- @param zone_data text
SELECT partition
FROM carillon.partitions
WHERE partition = ANY (:partitions) AND zone_data IS DISTINCT FROM :zone_data
ORDER BY partition
