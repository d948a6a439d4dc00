-- Notes what is asked of one tick, in place of what was asked of it before. Runs in the transaction of lock-timer.sql,
-- after move-cursors.sql raised the timer's `rev`: a fire planned before is refused. The change of `changed_at` tells the
-- wheel. Lock order: timers, queue, jobs. Index: tick_changes' and jobs' primary keys.
-- @param job bigint
-- @param now bigint
-- @param due bigint
-- @param reopens boolean
-- @param action text
-- @param start_at bigint
-- @param reason text
-- @param actor text
WITH changed AS (
  UPDATE carillon.jobs
  SET ticks_changed_until = greatest(ticks_changed_until, :due), changed_at = :now,
    state = CASE WHEN :reopens THEN 'active' ELSE state END,
    ended_at = CASE WHEN :reopens THEN NULL ELSE ended_at END
  WHERE job = :job
  RETURNING job, tenant, partition
)
INSERT INTO carillon.tick_changes AS c (job, due, tenant, action, start_at, reason, actor, created_at, partition)
SELECT job, :due, tenant, :action, :start_at, :reason, :actor, :now, partition
FROM changed
ON CONFLICT (job, due, partition) DO UPDATE
SET action = excluded.action, start_at = excluded.start_at, reason = excluded.reason, actor = excluded.actor,
    created_at = excluded.created_at
RETURNING c.due
