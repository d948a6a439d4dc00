-- The rules of a tenant, or one of them. Plain read. Index: alert_rules_once.
-- @param tenant int
-- @param rule uuid
SELECT r.rule::text AS rule, r.kind, r.tag, r.params, r.severity, r.enabled, r.channels::text[] AS channels,
       j.id::text AS job_uuid, j.name AS job_name
FROM carillon.alert_rules r
LEFT JOIN carillon.jobs j ON j.job = r.job
WHERE r.tenant = :tenant AND (:rule IS NULL OR r.rule = :rule)
ORDER BY r.kind, (r.job IS NOT NULL), (r.tag IS NOT NULL), r.tag, r.rule
