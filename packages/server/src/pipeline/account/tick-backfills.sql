-- Runs of one instant that backfills made: on their way, or how they ended. Plain read.
-- Index: queue's primary key (job, due), ledger_history in each ledger partition.
-- @plan each-time
-- @param job bigint
-- @param due bigint
-- @param origin smallint
SELECT q.seq, NULL AS outcome, NULL::bigint AS recorded_at
FROM carillon.queue q
WHERE q.job = :job AND q.due = :due AND q.origin = :origin
UNION ALL
SELECT last.seq, last.outcome::text, last.recorded_at
FROM (
  SELECT DISTINCT ON (l.seq) l.seq, l.outcome, l.recorded_at
  FROM carillon.ledger l
  WHERE l.job = :job AND l.due = :due AND l.origin = :origin AND l.final
    AND NOT EXISTS (SELECT FROM carillon.queue q
                    WHERE q.job = l.job AND q.due = l.due AND q.origin = l.origin AND q.seq = l.seq)
  ORDER BY l.seq, l.round DESC
) last
ORDER BY seq
