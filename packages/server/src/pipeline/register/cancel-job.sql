-- Cancels a job: no tick after this fires, and what was fired goes on. move-cursors.sql stopped its timer before, took back
-- what was staged and not due, which was never owed, and noted the ticks that were due and not fired.
--   - a run of a tick that has come is in flight, whether a worker holds it or not: it goes on, with its retries;
--   - a run that a worker holds and whose tick is ahead is the worker's: it is asked to cancel, and it alone writes the
--     outcome;
--   - a staged run that lies before such a one could not be taken back, and a run that a pause had parked must not start
--     because of a cancel: these end here as cancelled;
--   - what was still to be caught up is noted as a range, by replay; a backfill owes nothing, and is cancelled.
-- Runs in the transaction of lock-timer.sql and look-at-runs.sql. Lock order: timers, queue, replays, jobs.
-- Index: queue's primary key (job), replays_of_job, jobs' primary key.
-- @plan each-time
-- @param job bigint
-- @param now bigint
-- @param parked_until bigint
-- @param reason text
-- @param replays bigint[]
-- @param replay_nexts bigint[]
WITH run AS MATERIALIZED (
  SELECT * FROM carillon.queue
  WHERE job = :job AND (available_at >= :parked_until OR (due > :now AND available_at > :now AND origin = 0))
),
ended AS (
  DELETE FROM carillon.queue q
  USING run
  WHERE run.holder IS NULL AND q.due = run.due AND q.job = run.job AND q.origin = run.origin AND q.seq = run.seq
    AND q.partition = run.partition
),
asked AS (
  UPDATE carillon.queue q
  SET cancel_requested = true
  FROM run
  WHERE run.holder IS NOT NULL AND q.due = run.due AND q.job = run.job AND q.origin = run.origin AND q.seq = run.seq
    AND q.partition = run.partition
),
dropped AS (
  UPDATE carillon.replays r
  SET state = 'cancelled', ended_at = CASE WHEN r.kind = 'backfill' THEN :now END
  FROM unnest(:replays, :replay_nexts) AS known (replay, next_due)
  WHERE r.replay = known.replay
  RETURNING r.*, known.next_due
),
noted AS (
  INSERT INTO carillon.ledger (recorded_at, tenant, job, due, origin, seq, outcome, final, round, attempt,
                               max_attempts, version, epoch, next_due, catch_up, due_to, ticks, available_at, fired_at,
                               reason, error, partition)
  SELECT :now, tenant, job, due, origin, seq, 'cancelled'::carillon.outcome, true, round, attempt,
         max_attempts, version, epoch, next_due, catch_up, NULL::bigint, 1, nullif(available_at, :parked_until), fired_at,
         'job_cancelled', last_error, partition
  FROM run
  WHERE holder IS NULL
  UNION ALL
  SELECT :now, tenant, job, cursor_ms, 0, 0, 'skipped', true, 0, 0,
         NULL, version, 0, next_due, false, nullif(to_ms, cursor_ms), total - done, NULL, NULL,
         'job_cancelled', NULL, partition
  FROM dropped
  WHERE kind = 'catch_up'
)
UPDATE carillon.jobs
SET state = 'cancelled', ended_at = :now, cancelled_at = :now, cancel_reason = :reason, changed_at = :now,
    paused_at = NULL, pause_reason = NULL, paused_until = NULL
WHERE job = :job
RETURNING job
