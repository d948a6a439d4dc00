-- A channel took a notification. What an Alertmanager was told of is told again for as long as it goes on, unless it is silenced: else it would
-- forget it. By the claim: one that was asked for anew meanwhile is sent again. Lock: the rows. Index: primary keys.
-- @param notification bigint
-- @param claimed_until bigint
-- @param resend_ms bigint
WITH marked AS (
  UPDATE carillon.alert_notifications n
  SET delivered_at = carillon.now_ms(), error = NULL, claimed_until = 0,
      next_at = CASE WHEN n.event = 'firing' AND c.type = 'alertmanager' AND a.resolved_at IS NULL AND a.silenced_by IS NULL AND NOT a.muted
                     THEN carillon.now_ms() + :resend_ms END
  FROM carillon.alert_channels c, carillon.alerts a
  WHERE n.notification = :notification AND n.claimed_until = :claimed_until AND c.channel = n.channel AND a.alert = n.alert
  RETURNING n.channel, c.failures
)
UPDATE carillon.alert_channels c
SET delivered_at = carillon.now_ms(), delivered_ok = true, delivered_error = NULL, failures = 0
FROM marked
WHERE c.channel = marked.channel
RETURNING marked.failures
