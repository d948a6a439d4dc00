-- Notes that the fleet was looked at, with what is remembered of it. Lock: the one row, which claim-watch.sql took.
-- @param now bigint
-- @param memory jsonb
-- @param pinged_at bigint
UPDATE carillon.alert_watch SET looked_at = :now, memory = :memory, pinged_at = :pinged_at
RETURNING looked_at
