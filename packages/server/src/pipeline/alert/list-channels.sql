-- The channels of a tenant by name, or one of them, with how much they have not taken yet. Plain read.
-- Index: alert_channels' by tenant, alert_notifications_of_channel.
-- @param tenant int
-- @param channel uuid
SELECT c.channel::text AS channel, c.tenant, c.name, c.type, c.settings, c.min_severity, c.created_at, c.delivered_at, c.delivered_ok,
       c.delivered_error,
       (SELECT count(*)::int FROM carillon.alert_notifications n
        WHERE n.channel = c.channel AND n.next_at IS NOT NULL AND n.delivered_at IS NULL) AS waiting
FROM carillon.alert_channels c
WHERE c.tenant = :tenant AND (:channel IS NULL OR c.channel = :channel)
ORDER BY c.name
