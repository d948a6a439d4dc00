-- Closes the open event of a fingerprint. Index: alerts_open.
-- @param tenant int
-- @param fingerprint text
UPDATE carillon.alerts
SET resolved_at = carillon.now_ms()
WHERE coalesce(tenant, 0) = coalesce(:tenant, 0) AND fingerprint = :fingerprint AND resolved_at IS NULL
RETURNING alert
