-- Ends a re-drive that goes on: nothing more is moved. Waits for a batch under way, which then counts.
-- Lock: the row. Index: redrives' primary key.
-- @param tenant int
-- @param redrive bigint
UPDATE carillon.redrives
SET state = 'cancelled', ended_at = carillon.now_ms()
WHERE tenant = :tenant AND redrive = :redrive AND ended_at IS NULL
RETURNING redrive
