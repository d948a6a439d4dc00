-- Makes a rule, unless there is one of the kind for the same jobs (alert_rules_once) or the tenant has too many. Lock: the new row.
-- @param rule uuid
-- @param tenant int
-- @param kind text
-- @param job bigint
-- @param tag text
-- @param params jsonb
-- @param severity text
-- @param enabled boolean
-- @param channels uuid[]
-- @param most int
INSERT INTO carillon.alert_rules (rule, tenant, kind, job, tag, params, severity, enabled, channels)
SELECT :rule, :tenant, :kind, :job, :tag, :params, :severity, :enabled, :channels
WHERE (SELECT count(*) FROM carillon.alert_rules r WHERE r.tenant = :tenant) < :most
RETURNING rule
