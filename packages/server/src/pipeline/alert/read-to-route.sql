-- Alerts of which it has to be decided whom to tell. FOR UPDATE SKIP LOCKED: two processes decide about different ones, and whoever raises
-- or closes one meanwhile waits for the decision. Lock: the rows. Index: alerts_to_route, jobs' primary key.
-- @param most int
SELECT a.alert, a.tenant, a.kind, a.severity, a.job, a.resolved_at IS NULL AS open, a.told, a.detail ->> 'channel_id' AS failing_channel,
       j.tags, carillon.now_ms() AS now
FROM carillon.alerts a
LEFT JOIN carillon.jobs j ON j.job = a.job
WHERE a.route_at <= carillon.now_ms()
ORDER BY a.route_at
LIMIT :most
FOR UPDATE OF a SKIP LOCKED
