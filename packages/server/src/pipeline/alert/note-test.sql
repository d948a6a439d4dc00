-- Notes what came of a test of a channel. That it failed is over with one that went well. Lock: the rows. Index: primary key, alerts_open.
-- @param tenant int
-- @param channel uuid
-- @param ok boolean
-- @param error text
WITH failing AS (
  UPDATE carillon.alerts a SET resolved_at = carillon.now_ms(), route_at = carillon.now_ms()
  WHERE :ok AND coalesce(a.tenant, 0) = :tenant AND a.fingerprint = 'channel_failing:' || :channel AND a.resolved_at IS NULL
  RETURNING a.alert
)
UPDATE carillon.alert_channels c
SET delivered_at = carillon.now_ms(), delivered_ok = :ok, delivered_error = :error, failures = CASE WHEN :ok THEN 0 ELSE c.failures END
WHERE c.tenant = :tenant AND c.channel = :channel
RETURNING c.channel
