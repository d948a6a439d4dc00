-- The run of a job that was going on at an instant: the latest before it that ended after it, or is still there. A run
-- that ended after the instant was recorded after it, so that older days of the ledger are left out. Plain read.
-- Index: queue's primary key (job), ledger_history.
-- @plan each-time
-- @param job bigint
-- @param at bigint
SELECT due, started_at, finished_at
FROM (
  (SELECT q.due, greatest(q.available_at, q.leased_at) AS started_at, NULL::bigint AS finished_at
   FROM carillon.queue q
   WHERE q.job = :job AND q.due < :at AND q.fired_at <= :at
   ORDER BY q.due DESC
   LIMIT 1)
  UNION ALL
  (SELECT l.due, l.started_at, l.finished_at
   FROM carillon.ledger l
   WHERE l.job = :job AND l.due < :at AND l.recorded_at >= :at AND l.started_at <= :at AND l.finished_at >= :at
   ORDER BY l.due DESC
   LIMIT 1)
) runs
ORDER BY due DESC
LIMIT 1
