-- Ends an operation that goes on: no further job is changed. Waits for a chunk under way, which then counts.
-- Lock: the row. Index: operations' id.
-- @param tenant int
-- @param uuid uuid
UPDATE carillon.operations
SET state = 'cancelled', finished_at = carillon.now_ms()
WHERE tenant = :tenant AND id = :uuid AND state = 'running'
RETURNING operation
