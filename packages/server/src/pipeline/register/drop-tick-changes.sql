-- Forgets what was asked of single ticks that a change of the job has taken away, and tells so with an event. Runs in the
-- transaction of lock-timer.sql. Lock order: timers, queue, jobs. Index: tick_changes' and jobs' primary keys.
-- @param jobs bigint[]
-- @param dues bigint[]
-- @param subjects text[]
-- @param details text[]
WITH gone AS MATERIALIZED (
  DELETE FROM carillon.tick_changes c
  USING unnest(:jobs, :dues, :subjects, :details) AS drop (job, due, subject, detail)
  WHERE c.job = drop.job AND c.due = drop.due
  RETURNING c.job, c.due, c.tenant, drop.subject, drop.detail
),
told AS (
  INSERT INTO carillon.alerts (tenant, kind, fingerprint, subject, detail)
  SELECT tenant, 'tick_change_dropped', 'tick_change_dropped:' || job || ':' || due, subject, detail::jsonb
  FROM gone
  ON CONFLICT (coalesce(tenant, 0), fingerprint) WHERE resolved_at IS NULL DO NOTHING
)
UPDATE carillon.jobs j
SET ticks_changed_until = (
  SELECT max(c.due) FROM carillon.tick_changes c
  WHERE c.job = j.job AND NOT EXISTS (SELECT FROM gone WHERE gone.job = c.job AND gone.due = c.due)
)
WHERE j.job IN (SELECT job FROM gone)
RETURNING j.job
