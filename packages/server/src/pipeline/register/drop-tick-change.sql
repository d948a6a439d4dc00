-- Takes back what was asked of one tick. Runs in the transaction of lock-timer.sql, after move-cursors.sql.
-- Lock order: timers, queue, jobs. Index: tick_changes' and jobs' primary keys.
-- @param job bigint
-- @param now bigint
-- @param due bigint
-- @param reopens boolean
WITH gone AS (
  DELETE FROM carillon.tick_changes WHERE job = :job AND due = :due RETURNING job
)
UPDATE carillon.jobs j
SET ticks_changed_until = (SELECT max(c.due) FROM carillon.tick_changes c WHERE c.job = j.job AND c.due <> :due),
    changed_at = :now,
    state = CASE WHEN :reopens THEN 'active' ELSE state END,
    ended_at = CASE WHEN :reopens THEN NULL ELSE ended_at END
WHERE j.job = :job
RETURNING j.job
