-- Notes how far the tail has been looked at, in the transaction of the look: what was raised and the place are kept together, or neither.
-- Lock: the one row, which claim-tail.sql took.
-- @param until bigint
-- @param slice_ms bigint
UPDATE carillon.alert_watch SET through = :until, slice_ms = :slice_ms
RETURNING through
