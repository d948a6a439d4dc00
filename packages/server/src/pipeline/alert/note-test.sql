-- Notes what came of a test of a channel. Lock: the row. Index: primary key.
-- @param tenant int
-- @param channel uuid
-- @param ok boolean
-- @param error text
UPDATE carillon.alert_channels SET delivered_at = carillon.now_ms(), delivered_ok = :ok, delivered_error = :error
WHERE tenant = :tenant AND channel = :channel
RETURNING channel
