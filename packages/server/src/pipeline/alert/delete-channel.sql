-- Deletes a channel, with what it was to be sent, and takes it out of the rules that name it: one that named no other is told to all again.
-- That it failed is over. Lock: the rows. Index: primary keys, alert_notifications_of_channel, alert_rules_once, alerts_open.
-- @param tenant int
-- @param channel uuid
WITH named AS (
  UPDATE carillon.alert_rules r SET channels = nullif(array_remove(r.channels, :channel), '{}')
  WHERE r.tenant = :tenant AND :channel = ANY (r.channels)
  RETURNING r.rule
),
failing AS (
  UPDATE carillon.alerts a SET resolved_at = carillon.now_ms(), route_at = carillon.now_ms()
  WHERE coalesce(a.tenant, 0) = :tenant AND a.fingerprint = 'channel_failing:' || :channel AND a.resolved_at IS NULL
  RETURNING a.alert
)
DELETE FROM carillon.alert_channels WHERE tenant = :tenant AND channel = :channel RETURNING channel
