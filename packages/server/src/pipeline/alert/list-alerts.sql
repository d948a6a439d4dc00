-- A page of the alerts of a tenant and of the fleet, the latest first. Those whose rule is off are none. Plain read.
-- From `before` down to `least`, by one range for the tenant and one for the fleet. Planned for what is asked: a page without a filter is the
-- end of an index, and so is each filter's. A kind is found of tenants or of the fleet: the range of the other is not looked into, where a filter
-- that never fits would go through all of it.
-- Index: alerts_latest, alerts_going_on, alerts_of_kind, alerts_of_job; alerts_of_fleet, alerts_of_fleet_kind; jobs' primary key.
-- @plan each-time
-- @param tenant int
-- @param of_tenant boolean
-- @param of_fleet boolean
-- @param before bigint
-- @param least bigint
-- @param state text
-- @param kind text
-- @param job bigint
-- @param most int
SELECT a.alert, a.tenant, a.kind, a.severity, a.subject, a.detail, a.raised_at, a.last_seen_at, a.resolved_at, a.resolved_by, a.count,
       a.silenced_by::text AS silenced_by, j.id::text AS job_uuid, j.name AS job_name
FROM (
  (SELECT own.* FROM carillon.alerts own
   WHERE :of_tenant AND own.tenant = :tenant AND own.alert < :before AND own.alert >= :least AND NOT own.muted
     AND (:kind IS NULL OR own.kind = :kind) AND (:job IS NULL OR own.job = :job)
     AND CASE :state WHEN 'firing' THEN own.resolved_at IS NULL AND own.silenced_by IS NULL
                     WHEN 'silenced' THEN own.resolved_at IS NULL AND own.silenced_by IS NOT NULL
                     WHEN 'resolved' THEN own.resolved_at IS NOT NULL ELSE true END
   ORDER BY own.alert DESC LIMIT :most)
  UNION ALL
  (SELECT fleet.* FROM carillon.alerts fleet
   WHERE :of_fleet AND fleet.tenant IS NULL AND fleet.alert < :before AND fleet.alert >= :least AND NOT fleet.muted
     AND (:kind IS NULL OR fleet.kind = :kind) AND :job IS NULL
     AND CASE :state WHEN 'firing' THEN fleet.resolved_at IS NULL AND fleet.silenced_by IS NULL
                     WHEN 'silenced' THEN fleet.resolved_at IS NULL AND fleet.silenced_by IS NOT NULL
                     WHEN 'resolved' THEN fleet.resolved_at IS NOT NULL ELSE true END
   ORDER BY fleet.alert DESC LIMIT :most)
) a
LEFT JOIN carillon.jobs j ON j.job = a.job
ORDER BY a.alert DESC
LIMIT :most
