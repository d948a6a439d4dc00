-- Makes new versions of jobs, one or many, the present ones, after move-cursors.sql set the timers by them. The old ones go to
-- job_versions, where runs fired with them find them. The stretch of a job's life in which the old one applied becomes a
-- segment, unless nothing lies in it.
-- Runs in the transaction of lock-timer.sql. A name that a live job has fails on jobs_live_name.
-- Lock order: timers, queue, jobs. Index: jobs' primary key.
-- @param jobs bigint[]
-- @param now bigint
-- @param from_mss bigint[]
-- @param names text[]
-- @param definitions text[]
-- @param one_offs boolean[]
-- @param routes int[]
-- @param zone_data text
-- @param calendars text[]
-- @param states text[]
-- @param reason text
WITH edited AS MATERIALIZED (
  SELECT *
  FROM unnest(:jobs, :from_mss, :names, :definitions, :one_offs, :routes, :calendars, :states)
    AS e (job, from_ms, name, definition, one_off, route, calendars, state)
),
old AS MATERIALIZED (
  SELECT * FROM carillon.jobs WHERE job = ANY (:jobs) ORDER BY job FOR UPDATE
),
kept AS (
  INSERT INTO carillon.job_versions (job, version, tenant, definition, route, created_at, reason, partition)
  SELECT job, version, tenant, definition, route, updated_at, version_reason, partition FROM old
),
stretch AS (
  INSERT INTO carillon.segments (job, from_ms, tenant, version, calendars, zone_data, reason, partition)
  SELECT old.job, old.effective_from, old.tenant, old.version, edited.calendars::jsonb, old.zone_data, 'edited', old.partition
  FROM old JOIN edited USING (job)
  WHERE old.effective_from < edited.from_ms
)
UPDATE carillon.jobs j
SET name = edited.name, definition = edited.definition::jsonb, version = old.version + 1, one_off = edited.one_off,
    route = edited.route, effective_from = edited.from_ms, zone_data = :zone_data, state = edited.state,
    version_reason = :reason, ended_at = CASE WHEN edited.state = 'ended' THEN :now END, updated_at = :now,
    changed_at = :now
FROM old JOIN edited USING (job)
WHERE j.job = old.job
RETURNING j.job, j.version
