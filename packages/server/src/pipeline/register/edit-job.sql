-- Makes a new version of a job the present one, after move-cursors.sql set the timer by it. The old one goes to
-- job_versions, where runs fired with it find it. The stretch of the job's life in which it applied becomes a segment,
-- unless nothing lies in it.
-- Runs in the transaction of lock-timer.sql. A name that a live job has fails on jobs_live_name.
-- Lock order: timers, queue, jobs. Index: jobs' primary key.
-- @param job bigint
-- @param now bigint
-- @param from_ms bigint
-- @param name text
-- @param definition text
-- @param one_off boolean
-- @param route int
-- @param zone_data text
-- @param calendars text
-- @param state text
-- @param reason text
WITH old AS MATERIALIZED (
  SELECT * FROM carillon.jobs WHERE job = :job FOR UPDATE
),
kept AS (
  INSERT INTO carillon.job_versions (job, version, tenant, definition, route, created_at, reason, partition)
  SELECT job, version, tenant, definition, route, updated_at, version_reason, partition FROM old
),
stretch AS (
  INSERT INTO carillon.segments (job, from_ms, tenant, version, calendars, zone_data, reason, partition)
  SELECT job, effective_from, tenant, version, :calendars::jsonb, zone_data, 'edited', partition
  FROM old
  WHERE effective_from < :from_ms
)
UPDATE carillon.jobs j
SET name = :name, definition = :definition::jsonb, version = j.version + 1, one_off = :one_off, route = :route,
    effective_from = :from_ms, zone_data = :zone_data, state = :state, version_reason = :reason,
    ended_at = CASE WHEN :state = 'ended' THEN :now END, updated_at = :now, changed_at = :now
FROM old
WHERE j.job = old.job
RETURNING j.version
