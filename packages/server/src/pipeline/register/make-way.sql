-- Clears the places of jobs, one or many, for runs that somebody triggers, where their overlap policies say so:
--   - `ended` runs, which nobody holds, end as cancelled, replaced;
--   - `asked` runs are held: their holder is asked to cancel, and alone writes the outcome;
--   - a `promoted` run leaves the waiting place for a running one.
-- Before trigger-jobs.sql and apart from it: a place that is left and taken in one statement may conflict with itself.
-- Runs in the transaction of lock-timer.sql and look-at-runs.sql, which locked these runs. Lock order: timers, queue.
-- Index: queue's primary key.
-- @plan each-time
-- @param jobs bigint[]
-- @param now bigint
-- @param ways text[]
-- @param dues bigint[]
-- @param origins smallint[]
-- @param seqs int[]
-- @param slots smallint[]
WITH way AS MATERIALIZED (
  SELECT w.way, w.slot AS new_slot, q.*
  FROM unnest(:jobs, :ways, :dues, :origins, :seqs, :slots) AS w (job, way, due, origin, seq, slot)
  JOIN carillon.queue q ON q.job = w.job AND q.due = w.due AND q.origin = w.origin AND q.seq = w.seq
),
ended AS (
  DELETE FROM carillon.queue q
  USING way
  WHERE way.way = 'ended' AND q.due = way.due AND q.job = way.job AND q.origin = way.origin AND q.seq = way.seq
    AND q.partition = way.partition
),
noted AS (
  INSERT INTO carillon.ledger (recorded_at, tenant, job, due, origin, seq, outcome, final, round, attempt,
                               max_attempts, version, epoch, next_due, catch_up, available_at, fired_at, reason, error,
                               partition)
  SELECT :now, tenant, job, due, origin, seq, 'cancelled', true, round, attempt,
         max_attempts, version, epoch, next_due, catch_up, available_at, fired_at, 'replaced', last_error,
         partition
  FROM way
  WHERE way = 'ended'
)
UPDATE carillon.queue q
SET cancel_requested = q.cancel_requested OR way.way = 'asked',
    slot = CASE WHEN way.way = 'promoted' THEN way.new_slot ELSE q.slot END
FROM way
WHERE way.way <> 'ended' AND q.due = way.due AND q.job = way.job AND q.origin = way.origin AND q.seq = way.seq
  AND q.partition = way.partition
RETURNING q.job
