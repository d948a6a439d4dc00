-- Cancels one run that is in flight. Nobody holds it: it ends here, as cancelled. A worker holds it: it is asked to end it,
-- also when it is under way, and alone writes the outcome, so that no result is lost.
-- A tick ahead cannot be cancelled while an earlier one of the job is ahead too: taking that one back would let the
-- cursor pass over this one again. Earlier ticks are never staged after later ones, so that a plain look at them does.
-- Lock: the row; waits for a lease, close or rescue in progress. Index: queue's primary key, queue's primary key (job).
-- @plan each-time
-- @param tenant int
-- @param due bigint
-- @param job bigint
-- @param origin smallint
-- @param seq int
-- @param partition smallint
WITH clock AS MATERIALIZED (
  SELECT carillon.now_ms() AS now
),
run AS MATERIALIZED (
  SELECT q.*
  FROM carillon.queue q
  WHERE q.tenant = :tenant AND q.due = :due AND q.job = :job AND q.origin = :origin AND q.seq = :seq
    AND q.partition = :partition
  FOR UPDATE OF q
),
judged AS MATERIALIZED (
  SELECT run.*,
         CASE
           WHEN run.origin = 0 AND run.attempt = 1 AND run.round = 0 AND run.available_at > clock.now AND EXISTS (
             SELECT FROM carillon.queue earlier
             WHERE earlier.job = run.job AND earlier.origin = 0 AND earlier.due < run.due AND earlier.attempt = 1
               AND earlier.round = 0 AND earlier.available_at > clock.now
           ) THEN 'behind'
           WHEN run.holder IS NULL THEN 'ended'
           ELSE 'asked'
         END AS answer
  FROM run CROSS JOIN clock
),
gone AS (
  DELETE FROM carillon.queue q
  USING judged
  WHERE judged.answer = 'ended' AND q.due = judged.due AND q.job = judged.job AND q.origin = judged.origin
    AND q.seq = judged.seq AND q.partition = judged.partition
),
asked AS (
  UPDATE carillon.queue q
  SET cancel_requested = true, stop_requested = true
  FROM judged
  WHERE judged.answer = 'asked' AND q.due = judged.due AND q.job = judged.job AND q.origin = judged.origin
    AND q.seq = judged.seq AND q.partition = judged.partition
),
noted AS (
  INSERT INTO carillon.ledger (recorded_at, tenant, job, due, origin, seq, outcome, final, round, attempt,
                               max_attempts, version, epoch, next_due, catch_up, available_at, fired_at, reason, error,
                               partition)
  SELECT clock.now, tenant, job, due, origin, seq, 'cancelled', true, round, attempt,
         max_attempts, version, epoch, next_due, catch_up, available_at, fired_at, 'cancel_requested', last_error,
         partition
  FROM judged CROSS JOIN clock
  WHERE answer = 'ended'
)
SELECT answer FROM judged
