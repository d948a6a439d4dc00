-- Pauses jobs, one or many, after move-cursors.sql took their staged runs back and stopped their timers:
--   - a run that a worker holds and that has not begun is asked to cancel; the worker alone writes the outcome;
--   - a staged run that lies before such a one cannot be taken back, for the cursor never steps back over a run that is
--     held: it ends here as cancelled;
--   - a run that waits for a worker, a place or a retry is parked and gives its place back: it goes on when the job is
--     resumed. A run under way goes on;
--   - catching up stops where it is.
-- Runs in the transaction of lock-timer.sql and look-at-runs.sql. Lock order: timers, queue, replays, jobs.
-- Index: queue's primary key (job), replays_of_job, jobs' primary key.
-- @plan each-time
-- @param jobs bigint[]
-- @param now bigint
-- @param parked_until bigint
-- @param reason text
-- @param untils bigint[]
WITH run AS MATERIALIZED (
  SELECT *,
         holder IS NULL AND origin = 0 AND attempt = 1 AND round = 0 AND NOT catch_up AND available_at > :now
           AND available_at < :parked_until AS staged
  FROM carillon.queue
  WHERE job = ANY (:jobs)
),
asked AS (
  UPDATE carillon.queue
  SET cancel_requested = true
  WHERE job = ANY (:jobs) AND holder IS NOT NULL AND available_at > :now
),
ended AS (
  DELETE FROM carillon.queue q
  USING run
  WHERE run.staged AND q.due = run.due AND q.job = run.job AND q.origin = run.origin AND q.seq = run.seq
    AND q.partition = run.partition
),
noted AS (
  INSERT INTO carillon.ledger (recorded_at, tenant, job, due, origin, seq, outcome, final, round, attempt,
                               max_attempts, version, epoch, next_due, catch_up, available_at, fired_at, reason,
                               partition)
  SELECT :now, tenant, job, due, origin, seq, 'cancelled', true, round, attempt,
         max_attempts, version, epoch, next_due, catch_up, available_at, fired_at, 'paused', partition
  FROM run
  WHERE staged
),
parked AS (
  UPDATE carillon.queue q
  SET available_at = :parked_until, slot = NULL
  FROM run
  WHERE run.holder IS NULL AND NOT run.staged AND q.due = run.due AND q.job = run.job AND q.origin = run.origin
    AND q.seq = run.seq AND q.partition = run.partition
),
stopped AS (
  UPDATE carillon.replays SET state = 'paused' WHERE job = ANY (:jobs) AND state = 'running'
)
UPDATE carillon.jobs j
SET state = 'paused', paused_at = :now, pause_reason = :reason, paused_until = paused.until, ended_at = NULL,
    changed_at = :now
FROM unnest(:jobs, :untils) AS paused (job, until)
WHERE j.job = paused.job
RETURNING j.job
