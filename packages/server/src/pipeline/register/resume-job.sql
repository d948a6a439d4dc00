-- Resumes a job, after move-cursors.sql decided about the ticks of the pause and set the timer: what was parked is ready
-- again, catching up goes on. A job without a tick ahead has ended.
-- Runs in the transaction of lock-timer.sql and look-at-runs.sql. Lock order: timers, queue, replays, jobs.
-- Index: queue's primary key (job), replays_of_job, jobs' primary key.
-- @plan each-time
-- @param job bigint
-- @param now bigint
-- @param parked_until bigint
-- @param ends boolean
WITH unparked AS (
  UPDATE carillon.queue SET available_at = :now WHERE job = :job AND holder IS NULL AND available_at = :parked_until
),
going AS (
  UPDATE carillon.replays SET state = 'running' WHERE job = :job AND state = 'paused'
)
UPDATE carillon.jobs
SET state = CASE WHEN :ends THEN 'ended' ELSE 'active' END, ended_at = CASE WHEN :ends THEN :now END,
    paused_at = NULL, pause_reason = NULL, paused_until = NULL, changed_at = :now
WHERE job = :job
RETURNING job
