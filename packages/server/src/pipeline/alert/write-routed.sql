-- Writes what was decided about alerts, in the transaction that locked them (read-to-route.sql): what to send, what not to send any more.
-- A notification that was sent before is sent anew, with all its tries. That something is over is not said any more where it is told anew
-- that it goes on. Lock: the rows. Index: primary keys.
-- @param alerts jsonb
-- @param send jsonb
-- @param stop jsonb
WITH routed AS (
  UPDATE carillon.alerts a
  SET severity = g.severity, told = g.told, silenced_by = g.silenced_by, muted = g.muted, route_at = g.route_at
  FROM jsonb_to_recordset(:alerts) AS g (alert bigint, severity text, told text, silenced_by uuid, muted boolean, route_at bigint)
  WHERE a.alert = g.alert
  RETURNING a.alert
),
stopped AS (
  UPDATE carillon.alert_notifications n
  SET next_at = NULL
  FROM jsonb_to_recordset(:stop) AS g (alert bigint, channel uuid)
  WHERE n.alert = g.alert AND n.channel = g.channel AND n.event = 'firing'
  RETURNING n.notification
),
withdrawn AS (
  DELETE FROM carillon.alert_notifications n
  USING jsonb_to_recordset(:alerts) AS g (alert bigint, told text)
  WHERE n.alert = g.alert AND g.told = 'firing' AND n.event = 'resolved' AND n.next_at IS NOT NULL
  RETURNING n.notification
),
sent AS (
  INSERT INTO carillon.alert_notifications AS n (tenant, channel, alert, event, next_at)
  SELECT g.tenant, g.channel, g.alert, g.event, carillon.now_ms()
  FROM jsonb_to_recordset(:send) AS g (tenant int, channel uuid, alert bigint, event text)
  ORDER BY g.alert, g.channel
  ON CONFLICT (alert, channel, event) DO UPDATE
  SET next_at = excluded.next_at, created_at = carillon.now_ms(), tries = 0, claimed_until = 0, delivered_at = NULL,
      given_up_at = NULL, error = NULL
  RETURNING n.notification
)
SELECT (SELECT count(*)::int FROM routed) AS routed, (SELECT count(*)::int FROM sent) AS sent,
       (SELECT count(*)::int FROM stopped) AS stopped
