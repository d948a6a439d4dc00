-- Keeps the counts for everybody, unless somebody else has taken the count since. Lock: the one row.
-- @param claimed bigint
-- @param counts jsonb
-- @param pause_ms bigint
UPDATE carillon.fleet_sample SET counts = :counts, counted_at = carillon.now_ms(), count_at = carillon.now_ms() + :pause_ms
WHERE count_at = :claimed
RETURNING counted_at
