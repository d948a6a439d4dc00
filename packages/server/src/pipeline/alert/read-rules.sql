-- The rules of some tenants. Plain read. Index: alert_rules_once.
-- @param tenants int[]
SELECT r.tenant, r.kind, r.job, r.tag, r.params, r.severity, r.enabled, r.channels::text[] AS channels
FROM carillon.alert_rules r
WHERE r.tenant = ANY (:tenants)
