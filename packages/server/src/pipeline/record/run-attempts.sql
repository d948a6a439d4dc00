-- Every ledger row of one run, attempts and decisions, as they were recorded. Plain read.
-- Index: ledger_history (job, due), in each ledger partition.
-- @param tenant int
-- @param due bigint
-- @param job bigint
-- @param origin smallint
-- @param seq int
SELECT l.attempt, l.round, l.outcome::text AS outcome, l.final, l.reason, l.error, l.result, l.version, l.token, l.worker,
       l.available_at, l.leased_at, l.started_at, l.finished_at, l.recorded_at
FROM carillon.ledger l
WHERE l.job = :job AND l.due = :due AND l.origin = :origin AND l.seq = :seq AND l.tenant = :tenant
ORDER BY l.round, l.recorded_at, l.attempt, l.final
