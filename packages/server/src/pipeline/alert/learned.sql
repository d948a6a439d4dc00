-- How long the last hundred successes of some jobs took, as their p95, and of how many: what "slow" is measured by. Within a week, so that
-- few days of the ledger are looked into. Plain read. Index: ledger_history, one range each.
-- @param jobs bigint[]
SELECT given.job, count(*)::int AS samples,
       percentile_disc(0.95) WITHIN GROUP (ORDER BY last.took)::bigint AS p95
FROM unnest(:jobs) AS given (job)
CROSS JOIN LATERAL (
  SELECT l.finished_at - l.started_at AS took
  FROM carillon.ledger l
  WHERE l.job = given.job AND l.recorded_at > carillon.now_ms() - 604800000 AND l.outcome = 'success'
    AND l.finished_at IS NOT NULL AND l.started_at IS NOT NULL
  ORDER BY l.due DESC
  LIMIT 100
) last
GROUP BY given.job
