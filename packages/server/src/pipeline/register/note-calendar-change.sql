-- Jobs that follow a changed calendar from now on, after move-cursors.sql set their timers by it. The stretch that ends
-- keeps the content that its calendars had. Its version is the present one: a calendar is no part of the definition.
-- Runs in the transaction of lock-timers.sql. Lock order: timers, queue, jobs by key. Index: jobs' primary key.
-- @param now bigint
-- @param zone_data text
-- @param jobs bigint[]
-- @param froms bigint[]
-- @param calendars text[]
-- @param ends boolean[]
WITH change AS MATERIALIZED (
  SELECT * FROM unnest(:jobs, :froms, :calendars, :ends) AS c (job, from_ms, calendars, ends)
),
old AS MATERIALIZED (
  SELECT j.*, change.from_ms, change.calendars, change.ends
  FROM carillon.jobs j JOIN change USING (job)
  ORDER BY j.job
  FOR UPDATE OF j
),
stretch AS (
  INSERT INTO carillon.segments (job, from_ms, tenant, version, calendars, zone_data, reason, partition)
  SELECT job, effective_from, tenant, version, calendars::jsonb, zone_data, 'calendar', partition
  FROM old
  WHERE effective_from < from_ms
)
UPDATE carillon.jobs j
SET effective_from = old.from_ms, zone_data = :zone_data, changed_at = :now,
    state = CASE WHEN old.ends THEN 'ended' ELSE j.state END,
    ended_at = CASE WHEN old.ends THEN :now ELSE j.ended_at END
FROM old
WHERE j.job = old.job
RETURNING j.job
