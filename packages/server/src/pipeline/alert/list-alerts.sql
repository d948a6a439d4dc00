-- A page of the alerts of a tenant and of the fleet, the latest first. Those whose rule is off are none. Plain read.
-- Index: alerts_latest, one range for the tenant and one for the fleet.
-- @param tenant int
-- @param before bigint
-- @param alert bigint
-- @param state text
-- @param kind text
-- @param job bigint
-- @param most int
SELECT a.alert, a.tenant, a.kind, a.severity, a.subject, a.detail, a.raised_at, a.last_seen_at, a.resolved_at, a.resolved_by, a.count,
       a.silenced_by::text AS silenced_by, j.id::text AS job_uuid, j.name AS job_name
FROM (
  (SELECT own.* FROM carillon.alerts own
   WHERE own.tenant = :tenant AND own.alert < :before AND (:alert IS NULL OR own.alert = :alert) AND NOT own.muted
     AND (:kind IS NULL OR own.kind = :kind) AND (:job IS NULL OR own.job = :job)
     AND CASE :state WHEN 'firing' THEN own.resolved_at IS NULL AND own.silenced_by IS NULL
                     WHEN 'silenced' THEN own.resolved_at IS NULL AND own.silenced_by IS NOT NULL
                     WHEN 'resolved' THEN own.resolved_at IS NOT NULL ELSE true END
   ORDER BY own.alert DESC LIMIT :most)
  UNION ALL
  (SELECT fleet.* FROM carillon.alerts fleet
   WHERE fleet.tenant IS NULL AND fleet.alert < :before AND (:alert IS NULL OR fleet.alert = :alert) AND NOT fleet.muted
     AND (:kind IS NULL OR fleet.kind = :kind) AND :job IS NULL
     AND CASE :state WHEN 'firing' THEN fleet.resolved_at IS NULL AND fleet.silenced_by IS NULL
                     WHEN 'silenced' THEN fleet.resolved_at IS NULL AND fleet.silenced_by IS NOT NULL
                     WHEN 'resolved' THEN fleet.resolved_at IS NOT NULL ELSE true END
   ORDER BY fleet.alert DESC LIMIT :most)
) a
LEFT JOIN carillon.jobs j ON j.job = a.job
ORDER BY a.alert DESC
LIMIT :most
