-- What the ledger says about the ticks of some jobs in a range: final rows, and first attempts, whose start says whether
-- the run was late. No row is recorded a day before its tick, so that `recorded_from` leaves out the ledger's older days. Plain read.
-- A range that began before, and ends in this one or later, is among the last rows before it: its ticks have no rows of their own, but for those
-- that somebody skipped and those that the clocks jumped over. So not all that lies before is read, which would be all of a job's past
-- for each slice of a long verification. With more rows between them than are looked at, the tables are wrong, and the ticks of the range are told of.
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
FROM unnest(:jobs) AS wanted (job)
CROSS JOIN LATERAL (
  SELECT *
  FROM carillon.ledger before
  WHERE before.job = wanted.job AND before.due < :from AND before.recorded_at >= :recorded_from AND before.origin = 0
    AND (before.reason IS NULL OR before.reason NOT IN ('skipped_by_request', 'dst_gap'))
  ORDER BY before.due DESC
  LIMIT 64
) l
WHERE l.due_to >= :from AND l.final
