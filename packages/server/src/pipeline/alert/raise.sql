-- Raises an event, unless the same one is open already: the unique index alerts_open decides, also between two nodes.
-- @param tenant int
-- @param kind text
-- @param fingerprint text
-- @param subject text
-- @param detail text
INSERT INTO carillon.alerts (tenant, kind, fingerprint, subject, detail)
VALUES (:tenant, :kind, :fingerprint, :subject, :detail::jsonb)
ON CONFLICT (coalesce(tenant, 0), fingerprint) WHERE resolved_at IS NULL DO NOTHING
RETURNING alert
