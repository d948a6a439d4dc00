-- Re-drives of a tenant, the latest first, or one of them. Plain read. Index: redrives_by_tenant; jobs' primary key.
-- @param tenant int
-- @param redrive bigint
-- @param most int
SELECT r.redrive, r.job, j.id::text AS uuid, r.fingerprint, r.after_ms, r.before_ms, r.per_second, r.canary, r.total,
       r.moved, r.canaries, r.state, r.reason, r.created_at, r.ended_at
FROM carillon.redrives r
LEFT JOIN carillon.jobs j ON j.job = r.job
WHERE r.tenant = :tenant AND (:redrive IS NULL OR r.redrive = :redrive)
ORDER BY r.redrive DESC
LIMIT :most
