-- Ticks of a range that a backfill of what is missing leaves out, as ranges: they ended in success, by the schedule or by a
-- backfill; they are in the queue; they have to be caught up or to be backfilled. Runs under the lock of the timer, without
-- which no fire and no replay of the job goes on. Index: ledger_history, queue's primary key (job), replays_of_job.
-- @plan each-time
-- @param job bigint
-- @param from bigint
-- @param to bigint
-- @param backfill_origin smallint
SELECT l.due AS from_ms, l.due AS to_ms
FROM carillon.ledger l
WHERE l.job = :job AND l.due >= :from AND l.due < :to AND l.final AND l.outcome = 'success'
  AND l.origin IN (0, :backfill_origin)
UNION ALL
SELECT q.due, q.due
FROM carillon.queue q
WHERE q.job = :job AND q.due >= :from AND q.due < :to AND q.origin IN (0, :backfill_origin)
UNION ALL
SELECT r.cursor_ms, r.to_ms
FROM carillon.replays r
WHERE r.job = :job AND r.state IN ('running', 'paused') AND r.kind = 'catch_up'
UNION ALL
SELECT tick, tick
FROM carillon.replays r CROSS JOIN unnest(r.ticks[r.done + 1:]) AS tick
WHERE r.job = :job AND r.state IN ('running', 'paused') AND r.kind = 'backfill'
