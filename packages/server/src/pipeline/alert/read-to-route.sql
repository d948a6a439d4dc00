-- Alerts of which it has to be decided whom to tell. FOR UPDATE SKIP LOCKED: two processes decide about different ones, and whoever raises
-- or closes one meanwhile waits for the decision. Also those that a process of an older release closed, which does not ask for it.
-- Lock: the rows. Index: alerts_to_route, alerts_end_untold, jobs' primary key.
-- @param most int
SELECT a.alert, a.tenant, a.kind, a.severity, a.job, a.resolved_at IS NULL AS open, a.told, a.detail ->> 'channel_id' AS failing_channel,
       j.tags, carillon.now_ms() AS now
FROM carillon.alerts a
LEFT JOIN carillon.jobs j ON j.job = a.job
WHERE a.route_at <= carillon.now_ms() OR (a.resolved_at IS NOT NULL AND a.told = 'firing' AND a.route_at IS NULL)
ORDER BY a.route_at
LIMIT :most
FOR UPDATE OF a SKIP LOCKED
