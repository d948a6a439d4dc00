-- The count failed: the next one keeps as long a distance as after one that took as long. Lock: the one row.
-- @param claimed bigint
-- @param pause_ms bigint
UPDATE carillon.fleet_sample SET count_at = carillon.now_ms() + :pause_ms
WHERE count_at = :claimed
RETURNING count_at
