-- What was or is to be sent of one alert, by channels of one tenant. Plain read. Index: alert_notifications' by alert.
-- @param tenant int
-- @param alert bigint
SELECT n.channel::text AS channel, c.name, n.event, n.delivered_at, n.given_up_at, n.next_at, n.tries, n.error
FROM carillon.alert_notifications n
JOIN carillon.alert_channels c ON c.channel = n.channel
WHERE n.alert = :alert AND n.tenant = :tenant
ORDER BY n.notification
