-- Deletes a job: no tick after this fires, its history stays. Runs after lock-timer.sql, in its transaction: the lock on
-- the timer keeps every fire of this job out (they skip it) until this commits.
--   - ticks that were due and not fired yet (the scheduler was late) are owed a record: `owed` names their range;
--   - a staged tick that is not due yet is taken back: it was never owed;
--   - a run that is due, or waits for a retry, and that nobody holds, ends here as cancelled;
--   - a run that a worker holds is the worker's: it is asked to cancel, and the worker alone writes the outcome.
-- Lock order: timers, queue, jobs. Index: jobs.id, primary keys, queue_slot.
-- @plan each-time
-- @param tenant int
-- @param uuid uuid
-- @param owed_from bigint
-- @param owed_to bigint
-- @param owed_count int
-- @param owed_next bigint
WITH clock AS MATERIALIZED (
  SELECT carillon.now_ms() AS now
),
timer AS MATERIALIZED (
  SELECT t.job, t.partition, t.tenant, j.version
  FROM carillon.jobs j
  JOIN carillon.timers t ON t.job = j.job AND t.partition = j.partition
  WHERE j.tenant = :tenant AND j.id = :uuid AND j.state IN ('active', 'paused', 'ended')
  FOR UPDATE OF t
),
stopped AS (
  UPDATE carillon.timers t
  SET due = NULL, start_at = NULL, rev = rev + 1
  FROM timer
  WHERE t.job = timer.job AND t.partition = timer.partition
),
run AS MATERIALIZED (
  SELECT q.*
  FROM timer JOIN carillon.queue q ON q.job = timer.job
  ORDER BY q.due, q.origin, q.seq
  FOR UPDATE OF q
),
taken_back AS (
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
noted AS (
  INSERT INTO carillon.ledger (recorded_at, tenant, job, due, origin, seq, outcome, final, round, attempt,
                               max_attempts, version, epoch, next_due, catch_up, available_at, fired_at, reason, error,
                               partition)
  SELECT clock.now, tenant, job, due, origin, seq, 'cancelled', true, round, attempt,
         max_attempts, version, epoch, next_due, catch_up, available_at, fired_at, 'job_deleted', last_error, partition
  FROM run CROSS JOIN clock
  WHERE holder IS NULL AND (due <= clock.now OR attempt > 1)
),
owed AS (
  INSERT INTO carillon.ledger (recorded_at, tenant, job, due, origin, seq, outcome, final, round, attempt, version,
                               epoch, next_due, due_to, ticks, reason, partition)
  SELECT clock.now, tenant, job, :owed_from, 0, 0, 'skipped', true, 0, 0, version,
         0, :owed_next, nullif(:owed_to, :owed_from), :owed_count, 'job_deleted', partition
  FROM timer CROSS JOIN clock
  WHERE :owed_from IS NOT NULL
),
gone AS (
  UPDATE carillon.jobs j
  SET state = 'deleted', ended_at = coalesce(j.ended_at, clock.now), updated_at = clock.now
  FROM timer CROSS JOIN clock
  WHERE j.job = timer.job
  RETURNING j.job
)
SELECT job FROM gone
