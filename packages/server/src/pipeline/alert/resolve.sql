-- Closes the open alerts of these fingerprints. Channels hear of it a little later (`delay_ms`): what comes back before is the same
-- alert. Lock: the rows. Index: alerts_open.
-- @param alerts jsonb
-- @param delay_ms bigint
UPDATE carillon.alerts a
SET resolved_at = carillon.now_ms(), route_at = carillon.now_ms() + :delay_ms
FROM jsonb_to_recordset(:alerts) AS g (tenant int, fingerprint text)
WHERE coalesce(a.tenant, 0) = coalesce(g.tenant, 0) AND a.fingerprint = g.fingerprint AND a.resolved_at IS NULL
RETURNING a.alert
