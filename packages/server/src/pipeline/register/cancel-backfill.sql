-- Ends a backfill that goes on or waits. replay.sql locks the row and looks at its state again: after this it makes no run.
-- Index: primary key.
-- @param tenant int
-- @param replay bigint
UPDATE carillon.replays
SET state = 'cancelled', ended_at = carillon.now_ms()
WHERE replay = :replay AND tenant = :tenant AND kind = 'backfill' AND state IN ('running', 'paused')
RETURNING replay
