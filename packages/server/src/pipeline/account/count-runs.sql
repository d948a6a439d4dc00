-- Adds up what the ledger got from one instant to another, in pieces of five seconds, by outcome and by how late first
-- attempts began. Each row of the ledger is read once for this, whoever looks at the counts. In the transaction of
-- claim-count.sql. Index: ledger_recorded (with by-index.sql), run_counts' primary key.
-- @param since bigint
-- @param until bigint
-- @param classes bigint[]
WITH counts AS (
  INSERT INTO carillon.run_counts (tenant, at, outcome, lag, runs, first, max_lag)
  SELECT tenant, at, CASE WHEN final THEN outcome::text ELSE 'retried' END, lag_class, sum(ticks), sum(first), max(max_lag)
  -- Added up as they lie, and named afterwards: there are few sums, and many rows.
  FROM (
    SELECT tenant, at, final, outcome, coalesce(width_bucket(lag, :classes), -1) AS lag_class, sum(ticks) AS ticks,
           count(*) FILTER (WHERE first) AS first, coalesce(max(lag), 0) AS max_lag
    FROM (
      SELECT l.tenant, l.recorded_at / 5000 * 5000 AS at, l.final, l.outcome, l.ticks, l.attempt = 1 AND l.round = 0 AS first,
             CASE WHEN l.attempt = 1 AND l.round = 0 AND NOT l.catch_up THEN greatest(l.started_at - l.available_at, 0) END AS lag
      FROM carillon.ledger l
      WHERE l.recorded_at >= :since AND l.recorded_at < :until AND l.outcome <> 'stale'
    ) ended
    GROUP BY tenant, at, final, outcome, lag_class
  ) summed
  GROUP BY 1, 2, 3, 4
  ORDER BY 1, 2, 3, 4
  ON CONFLICT (tenant, at, outcome, lag) DO UPDATE
  SET runs = run_counts.runs + excluded.runs, first = run_counts.first + excluded.first,
      max_lag = greatest(run_counts.max_lag, excluded.max_lag)
)
UPDATE carillon.counted SET through = :until
RETURNING through
