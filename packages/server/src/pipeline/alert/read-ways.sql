-- The channels and silences of some tenants, and what was or is to be sent of some alerts: all that a decision needs. Plain read.
-- Index: alert_channels' and alert_silences' by tenant, alert_notifications' by alert.
-- @param tenants int[]
-- @param alerts bigint[]
SELECT (SELECT coalesce(jsonb_agg(jsonb_build_object('channel', c.channel, 'tenant', c.tenant, 'type', c.type,
                                                      'min_severity', c.min_severity)), '[]')
        FROM carillon.alert_channels c WHERE c.tenant = ANY (:tenants)) AS channels,
       (SELECT coalesce(jsonb_agg(jsonb_build_object('silence', s.silence, 'tenant', s.tenant, 'kind', s.kind, 'job', s.job, 'tag', s.tag,
                                                      'until', s.until) ORDER BY s.until DESC), '[]')
        FROM carillon.alert_silences s WHERE s.tenant = ANY (:tenants) AND s.until > carillon.now_ms()) AS silences,
       (SELECT coalesce(jsonb_agg(jsonb_build_object('alert', n.alert, 'channel', n.channel, 'event', n.event,
                                                      'delivered', n.delivered_at IS NOT NULL, 'waiting', n.next_at IS NOT NULL,
                                                      'given_up', n.given_up_at IS NOT NULL)), '[]')
        FROM carillon.alert_notifications n WHERE n.alert = ANY (:alerts)) AS sent
