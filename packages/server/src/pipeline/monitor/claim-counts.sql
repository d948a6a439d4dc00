-- Takes the count for a time, where one is due: of several processes one counts. No lock is held while it does, so that signs are kept
-- meanwhile; one that dies at it leaves it to the next when the time is over. A time beyond all that could have been set is one from before
-- the clock was set back. Lock: the one row, for this statement.
-- @param lease_ms bigint
-- @param longest_ms bigint
UPDATE carillon.fleet_sample SET count_at = carillon.now_ms() + :lease_ms
WHERE count_at <= carillon.now_ms() OR count_at > carillon.now_ms() + :longest_ms
RETURNING count_at
