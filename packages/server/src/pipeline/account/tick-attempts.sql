-- Every ledger row of one tick, attempts and decisions, as they were recorded. Plain read.
-- Index: ledger_history, in each ledger partition.
-- @param job bigint
-- @param due bigint
SELECT l.attempt, l.max_attempts, l.round, l.outcome::text AS outcome, l.final, l.reason, l.error, l.available_at,
       l.fired_at, l.leased_at, l.started_at, l.finished_at, l.recorded_at, l.worker, l.catch_up, l.ticks
FROM carillon.ledger l
WHERE l.job = :job AND l.due = :due AND l.origin = 0
ORDER BY l.round, l.recorded_at, l.attempt, l.final
