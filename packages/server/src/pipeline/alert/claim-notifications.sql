-- Takes what is to be sent now, for a while: a process that dies before it says what came of it leaves it to the next. SKIP LOCKED: several
-- processes send different ones. That something is over is not sent before that it began. Of one channel so many are on their way at most, in
-- the whole fleet: one that does not answer takes the place of no other. Lock: the rows. Index: alert_notifications_waiting, primary keys.
-- @param most int
-- @param most_of_channel int
-- @param lease_ms bigint
WITH waiting AS MATERIALIZED (
  SELECT n.notification, n.channel, n.next_at, n.claimed_until > carillon.now_ms() AS taken, n.event = 'resolved' AND EXISTS (
           SELECT FROM carillon.alert_notifications f
           WHERE f.alert = n.alert AND f.channel = n.channel AND f.event = 'firing' AND f.next_at IS NOT NULL AND f.delivered_at IS NULL
         ) AS early
  FROM carillon.alert_notifications n
  WHERE n.next_at <= carillon.now_ms()
),
ranked AS MATERIALIZED (
  SELECT w.notification, w.next_at, w.taken, row_number() OVER (PARTITION BY w.channel ORDER BY w.taken DESC, w.next_at) AS place
  FROM waiting w
  WHERE NOT w.early
),
taken AS MATERIALIZED (
  SELECT n.notification
  FROM ranked r
  JOIN carillon.alert_notifications n ON n.notification = r.notification
  WHERE NOT r.taken AND r.place <= :most_of_channel AND n.next_at <= carillon.now_ms() AND n.claimed_until <= carillon.now_ms()
  ORDER BY r.next_at
  LIMIT :most
  FOR UPDATE OF n SKIP LOCKED
),
claimed AS (
  UPDATE carillon.alert_notifications n
  SET claimed_until = carillon.now_ms() + :lease_ms, tries = n.tries + 1
  FROM taken
  WHERE n.notification = taken.notification
  RETURNING n.*
)
SELECT n.notification, n.tenant, n.channel, n.event, n.created_at, n.claimed_until, n.tries, carillon.now_ms() AS now,
       c.name AS channel_name, c.type, c.settings, t.name AS tenant_name,
       a.alert, a.kind, a.severity, a.subject, a.detail, a.raised_at, a.resolved_at, a.count, a.tenant IS NULL AS fleet,
       j.id::text AS job_uuid, j.name AS job_name
FROM claimed n
JOIN carillon.alert_channels c ON c.channel = n.channel
JOIN carillon.tenants t ON t.tenant = n.tenant
JOIN carillon.alerts a ON a.alert = n.alert
LEFT JOIN carillon.jobs j ON j.job = a.job
