-- Resumes jobs, one or many, after move-cursors.sql decided about the ticks of the pause and set the timers: what was parked is ready
-- again, catching up goes on. A job without a tick ahead has ended.
-- Runs in the transaction of lock-timer.sql and look-at-runs.sql. Lock order: timers, queue, replays, jobs.
-- Index: queue's primary key (job), replays_of_job, jobs' primary key.
-- @plan each-time
-- @param jobs bigint[]
-- @param now bigint
-- @param parked_until bigint
-- @param ends boolean[]
WITH unparked AS (
  UPDATE carillon.queue SET available_at = :now WHERE job = ANY (:jobs) AND holder IS NULL AND available_at = :parked_until
),
going AS (
  UPDATE carillon.replays SET state = 'running' WHERE job = ANY (:jobs) AND state = 'paused'
)
UPDATE carillon.jobs j
SET state = CASE WHEN resumed.ends THEN 'ended' ELSE 'active' END, ended_at = CASE WHEN resumed.ends THEN :now END,
    paused_at = NULL, pause_reason = NULL, paused_until = NULL, changed_at = :now
FROM unnest(:jobs, :ends) AS resumed (job, ends)
WHERE j.job = resumed.job
RETURNING j.job
