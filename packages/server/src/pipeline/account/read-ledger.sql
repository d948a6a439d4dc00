-- What the ledger says about the ticks of some jobs in a range: final rows, and first attempts, whose start says whether
-- the run was late. A range that began before is found by its end. No row is recorded a day before its tick, so that
-- `recorded_from` leaves out the ledger's older days. Plain read.
-- Index: ledger_history (job, due DESC), in each ledger partition that is left.
-- @param jobs bigint[]
-- @param from bigint
-- @param to bigint
-- @param recorded_from bigint
SELECT l.job, l.due, l.due_to, l.ticks, l.outcome::text AS outcome, l.final, l.round, l.attempt, l.catch_up, l.reason,
       l.available_at, l.leased_at, l.started_at
FROM carillon.ledger l
WHERE l.job = ANY (:jobs) AND l.due >= :from AND l.due < :to AND l.recorded_at >= :recorded_from AND l.origin = 0
  AND (l.final OR (l.attempt = 1 AND l.round = 0 AND l.outcome <> 'stale'))
UNION ALL
SELECT l.job, l.due, l.due_to, l.ticks, l.outcome::text, l.final, l.round, l.attempt, l.catch_up, l.reason,
       l.available_at, l.leased_at, l.started_at
FROM carillon.ledger l
WHERE l.job = ANY (:jobs) AND l.due < :from AND l.due_to >= :from AND l.recorded_at >= :recorded_from AND l.origin = 0
  AND l.final
