-- The runs that results speak of and that their worker does not hold, from the ledger: the row with the very token
-- (`exact`), else the last one. Plain read, and rare: a result that comes twice, or too late. Index: ledger_history (job, due).
-- @param tenant int
-- @param dues bigint[]
-- @param jobs bigint[]
-- @param origins smallint[]
-- @param seqs int[]
-- @param partitions smallint[]
-- @param tokens bigint[]
SELECT r.token AS asked_token, r.due, r.job, r.origin, r.seq, r.partition, l.tenant, l.version, l.epoch, l.attempt,
       coalesce(l.max_attempts, l.attempt) AS max_attempts, l.round, coalesce(l.fired_at, l.due) AS fired_at,
       coalesce(l.available_at, l.due) AS available_at,
       l.catch_up, l.leased_at, false AS cancel_requested, carillon.now_ms() AS now, false AS held,
       coalesce(l.token = r.token, false) AS exact
FROM unnest(:dues, :jobs, :origins, :seqs, :partitions, :tokens) AS r (due, job, origin, seq, partition, token)
CROSS JOIN LATERAL (
  SELECT *
  FROM carillon.ledger
  WHERE ledger.job = r.job AND ledger.due = r.due AND ledger.origin = r.origin AND ledger.seq = r.seq
    AND ledger.partition = r.partition AND ledger.tenant = :tenant
  ORDER BY coalesce(ledger.token = r.token, false) DESC, ledger.recorded_at DESC
  LIMIT 1
) l
