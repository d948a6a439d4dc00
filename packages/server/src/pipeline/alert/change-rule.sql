-- Changes a rule: what is not named in `fields` stays. Lock: the row. Index: primary key.
-- @param tenant int
-- @param rule uuid
-- @param fields text[]
-- @param params jsonb
-- @param severity text
-- @param enabled boolean
-- @param channels uuid[]
UPDATE carillon.alert_rules r
SET params = CASE WHEN 'params' = ANY (:fields) THEN :params ELSE r.params END,
    severity = CASE WHEN 'severity' = ANY (:fields) THEN :severity ELSE r.severity END,
    enabled = CASE WHEN 'enabled' = ANY (:fields) THEN :enabled ELSE r.enabled END,
    channels = CASE WHEN 'channels' = ANY (:fields) THEN :channels ELSE r.channels END,
    updated_at = carillon.now_ms()
WHERE r.tenant = :tenant AND r.rule = :rule
RETURNING r.rule
