-- Forgets collected jobs whose last run has left the ledger, replays that ended long ago, and processes that ended long ago. Small batches of cold
-- rows. Index: jobs_collected.
-- @param retention_ms bigint
-- @param most int
WITH forgotten AS MATERIALIZED (
  SELECT job FROM carillon.jobs
  WHERE state = 'collected' AND ended_at <= carillon.now_ms() - :retention_ms
  ORDER BY ended_at
  LIMIT :most
  FOR UPDATE SKIP LOCKED
),
jobs AS (
  DELETE FROM carillon.jobs j USING forgotten f WHERE j.job = f.job RETURNING 1
),
replays AS (
  DELETE FROM carillon.replays r
  WHERE r.job IN (SELECT job FROM forgotten)
     OR (r.state IN ('done', 'cancelled') AND r.created_at <= carillon.now_ms() - :retention_ms)
),
tick_changes AS (
  DELETE FROM carillon.tick_changes c USING forgotten f WHERE c.job = f.job
),
segments AS (
  DELETE FROM carillon.segments s USING forgotten f WHERE s.job = f.job
),
processes AS (
  DELETE FROM carillon.incarnations
  WHERE state <> 'alive' AND ended_at <= carillon.now_ms() - :retention_ms
    AND (rescued_at IS NOT NULL OR NOT 'worker' = ANY (roles))
)
SELECT count(*)::int AS forgotten FROM jobs
