-- Puts an end to jobs, one or many: deletes them (`deletes`), or cancels them. No tick after this fires, and their history
-- stays. move-cursors.sql stopped their timers before, took back what was staged and not due, which was never owed, and noted
-- the ticks that were due and not fired. Of the runs in flight
--   - a delete is about all;
--   - a cancel is about those whose tick is ahead, and those that a pause had parked and that must not start because of it.
--     A run of a tick that has come goes on, with its retries, whether a worker holds it or not;
-- and of those that it is about
--   - one that nobody holds ends here as cancelled;
--   - one that a worker holds is the worker's: it is asked to cancel, and the worker alone writes the outcome.
-- What was still to be caught up is noted as a range, by replay; a backfill owes nothing, and is cancelled.
-- Runs in the transaction of lock-timer.sql and look-at-runs.sql. Lock order: timers, queue, replays, jobs.
-- Index: queue's primary key (job), replays_pkey, jobs' primary key.
-- @plan each-time
-- @param jobs bigint[]
-- @param now bigint
-- @param deletes boolean
-- @param parked_until bigint
-- @param reason text
-- @param replays bigint[]
-- @param replay_nexts bigint[]
WITH run AS MATERIALIZED (
  SELECT * FROM carillon.queue
  WHERE job = ANY (:jobs)
    AND (:deletes OR available_at >= :parked_until OR (due > :now AND available_at > :now AND origin = 0))
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
         CASE WHEN :deletes THEN 'deleted' ELSE 'job_cancelled' END, last_error, partition
  FROM run
  WHERE holder IS NULL
  UNION ALL
  SELECT :now, tenant, job, cursor_ms, 0, 0, 'skipped', true, 0, 0,
         NULL, version, 0, next_due, false, nullif(to_ms, cursor_ms), total - done, NULL, NULL,
         CASE WHEN :deletes THEN 'deleted' ELSE 'job_cancelled' END, NULL, partition
  FROM dropped
  WHERE kind = 'catch_up'
)
UPDATE carillon.jobs
SET state = CASE WHEN :deletes THEN 'deleted' ELSE 'cancelled' END,
    ended_at = CASE WHEN :deletes THEN coalesce(ended_at, :now) ELSE :now END,
    updated_at = CASE WHEN :deletes THEN :now ELSE updated_at END,
    cancelled_at = CASE WHEN :deletes THEN cancelled_at ELSE :now END,
    cancel_reason = CASE WHEN :deletes THEN cancel_reason ELSE :reason END,
    changed_at = :now, paused_at = NULL, pause_reason = NULL, paused_until = NULL
WHERE job = ANY (:jobs)
RETURNING job
