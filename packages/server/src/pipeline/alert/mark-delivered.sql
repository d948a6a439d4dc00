-- A channel took a notification. What an Alertmanager was told of is told again for as long as it goes on, unless it is silenced: else it would
-- forget it, with all its tries. By the claim: one that was asked for anew meanwhile is sent again. Lock: the rows. Index: primary keys.
-- @param notification bigint
-- @param claimed_until bigint
-- @param resend_ms bigint
WITH again AS MATERIALIZED (
  SELECT n.notification, n.channel, c.failures,
         n.event = 'firing' AND c.type = 'alertmanager' AND a.resolved_at IS NULL AND a.silenced_by IS NULL AND NOT a.muted AS wanted
  FROM carillon.alert_notifications n, carillon.alert_channels c, carillon.alerts a
  WHERE n.notification = :notification AND n.claimed_until = :claimed_until AND c.channel = n.channel AND a.alert = n.alert
),
marked AS (
  UPDATE carillon.alert_notifications n
  SET delivered_at = carillon.now_ms(), error = NULL, claimed_until = 0, tries = CASE WHEN again.wanted THEN 0 ELSE n.tries END,
      next_at = CASE WHEN again.wanted THEN carillon.now_ms() + :resend_ms END
  FROM again
  WHERE n.notification = again.notification AND n.claimed_until = :claimed_until
  RETURNING n.channel, again.failures
)
UPDATE carillon.alert_channels c
SET delivered_at = carillon.now_ms(), delivered_ok = true, delivered_error = NULL, failures = 0
FROM marked
WHERE c.channel = marked.channel
RETURNING marked.failures
