-- Results whose lease was gone when they were to be closed. If the very token is in the ledger already, an earlier close
-- of it had been committed and only its answer was lost (a rescuer's row has the token too, but no end); otherwise the result came too late and is kept as stale.
-- A statement of its own, after the close: its snapshot sees what a close in progress committed while ours waited.
-- Index: ledger_history (job, due), in each partition of the ledger. Rare.
-- @param holder bigint
-- @param dues bigint[]
-- @param jobs bigint[]
-- @param origins smallint[]
-- @param seqs int[]
-- @param partitions smallint[]
-- @param tokens bigint[]
-- @param tenants int[]
-- @param versions int[]
-- @param epochs bigint[]
-- @param rounds smallint[]
-- @param attempts smallint[]
-- @param started_ats bigint[]
-- @param finished_ats bigint[]
-- @param errors text[]
-- @param results text[]
WITH unheld AS MATERIALIZED (
  SELECT DISTINCT ON (r.token) r.*,
         EXISTS (
           SELECT FROM carillon.ledger l
           WHERE l.job = r.job AND l.due = r.due AND l.origin = r.origin AND l.seq = r.seq AND l.token = r.token
             AND l.finished_at IS NOT NULL
         ) AS already
  FROM unnest(:dues, :jobs, :origins, :seqs, :partitions, :tokens, :tenants, :versions, :epochs, :rounds, :attempts,
              :started_ats, :finished_ats, :errors, :results)
    AS r (due, job, origin, seq, partition, token, tenant, version, epoch, round, attempt,
          started_at, finished_at, error, result)
),
stale AS (
  INSERT INTO carillon.ledger (recorded_at, tenant, job, due, origin, seq, outcome, final, round, attempt, version,
                               epoch, token, worker, started_at, finished_at, reason, error, result, partition)
  SELECT carillon.now_ms(), tenant, job, due, origin, seq, 'stale', false, round, attempt, version,
         epoch, token, :holder, started_at, finished_at, 'lease_lost', error, result::jsonb, partition
  FROM unheld
  WHERE NOT already
)
SELECT token, CASE WHEN already THEN 'already' ELSE 'stale' END AS answer FROM unheld
