-- Makes a silence, unless the tenant has too many or it would have ended. Lock: the new row. Index: alert_silences_of_tenant.
-- @param silence uuid
-- @param tenant int
-- @param kind text
-- @param job bigint
-- @param tag text
-- @param until bigint
-- @param reason text
-- @param by text
-- @param most int
INSERT INTO carillon.alert_silences (silence, tenant, kind, job, tag, until, reason, created_by)
SELECT :silence, :tenant, :kind, :job, :tag, :until, :reason, :by
WHERE (SELECT count(*) FROM carillon.alert_silences s WHERE s.tenant = :tenant AND s.until > carillon.now_ms()) < :most
RETURNING silence
