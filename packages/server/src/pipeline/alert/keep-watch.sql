-- Notes how far the watch has come, in the transaction of its pass: what was raised and the place are kept together, or neither.
-- Lock: the one row, which claim-watch.sql took.
-- @param until bigint
-- @param now bigint
-- @param memory jsonb
-- @param pinged_at bigint
UPDATE carillon.alert_watch SET through = :until, looked_at = :now, memory = :memory, pinged_at = :pinged_at
RETURNING through
