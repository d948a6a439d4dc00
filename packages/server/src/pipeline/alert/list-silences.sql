-- The silences of a tenant that have not ended, the one that ends first first; or one of them. Plain read. Index: alert_silences_of_tenant.
-- @param tenant int
-- @param silence uuid
SELECT s.silence::text AS silence, s.kind, s.tag, s.until, s.reason, s.created_at, s.created_by, j.id::text AS job_uuid, j.name AS job_name
FROM carillon.alert_silences s
LEFT JOIN carillon.jobs j ON j.job = s.job
WHERE s.tenant = :tenant AND s.until > carillon.now_ms() AND (:silence IS NULL OR s.silence = :silence)
ORDER BY s.until, s.silence
