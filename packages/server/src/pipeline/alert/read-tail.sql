-- What became of the ticks of some jobs from one instant to another: those that claim-tail.sql has noted, of which something may have to be said, or
-- taken back. Failures in a row and ticks passed over are kept in job_health, for jobs that have any: a
-- success forgets the failures, a long enough row of runs the rest (of more than twenty ticks each count is halved). In the transaction of
-- claim-tail.sql, whose lock makes this the only writer of job_health.
-- Lock: rows of job_health, by job. Index: ledger_recorded (with by-index.sql), alerts_open_of_job, jobs' primary key.
-- `= true` keeps the look into the jobs a hashed one: looked for by job, each might be read with all its history.
-- @param since bigint
-- @param until bigint
-- @param slow_ms bigint
-- @param noted bigint[]
WITH ruled AS MATERIALIZED (
  SELECT DISTINCT r.tenant FROM carillon.alert_rules r
  WHERE r.kind = 'late_start' AND r.enabled AND r.params ? 'start_within_seconds'
),
tail AS MATERIALIZED (
  SELECT l.tenant, l.job, l.due, l.due_to, l.recorded_at, l.outcome, l.ticks, l.error, l.finished_at,
         l.origin = 0 AND l.outcome = 'skipped' AND l.reason = 'overlap' AS overlapped,
         (l.outcome = 'skipped' AND l.reason IN ('missed', 'overload')) OR (l.catch_up AND l.final AND l.origin = 0) AS missed,
         l.final AND l.outcome IN ('failed', 'dead') AS failed,
         l.outcome = 'success' AS succeeded,
         l.final AND l.origin = 0 AND NOT l.catch_up AND l.outcome IN ('success', 'failed', 'dead') AS ran,
         CASE WHEN l.next_due > l.due AND l.origin = 0 THEN l.next_due - l.due END AS period,
         CASE WHEN l.attempt = 1 AND l.round = 0 AND NOT l.catch_up THEN greatest(l.started_at - l.available_at, 0) END AS lag,
         CASE WHEN l.outcome IN ('success', 'failed', 'dead') THEN l.finished_at - l.started_at END AS took
  FROM carillon.ledger l
  WHERE l.recorded_at >= :since AND l.recorded_at < :until AND l.outcome <> 'stale'
    AND (l.job IN (SELECT unnest(:noted))) = true
),
by_job AS MATERIALIZED (
  SELECT tenant, job,
         max(recorded_at) FILTER (WHERE succeeded) AS succeeded_at,
         max(due) FILTER (WHERE failed) AS failed_due,
         coalesce(sum(ticks) FILTER (WHERE missed), 0)::bigint AS missed, max(coalesce(due_to, due)) FILTER (WHERE missed) AS missed_due,
         coalesce(sum(ticks) FILTER (WHERE overlapped), 0)::int AS overlapped,
         count(*) FILTER (WHERE ran)::int AS ran, max(due) FILTER (WHERE ran AND NOT missed) AS ran_due,
         min(period) AS period,
         max(lag) AS lag, max(due) FILTER (WHERE lag IS NOT NULL) AS started_due,
         max(took) AS took, max(due) FILTER (WHERE took IS NOT NULL) AS ended_due,
         (array_agg(left(error, 300) ORDER BY recorded_at DESC) FILTER (WHERE failed))[1] AS error
  FROM tail
  GROUP BY tenant, job
),
streaks AS MATERIALIZED (
  SELECT t.job, count(*)::int AS failures
  FROM tail t JOIN by_job b USING (job)
  WHERE t.failed AND (b.succeeded_at IS NULL OR t.recorded_at > b.succeeded_at)
  GROUP BY t.job
),
unwell AS MATERIALIZED (
  SELECT b.job, b.tenant, b.period,
         CASE WHEN b.succeeded_at IS NULL THEN coalesce(h.failures, 0) ELSE 0 END + coalesce(s.failures, 0) AS failures,
         coalesce(h.overlapped, 0) + b.overlapped AS overlapped, coalesce(h.ran, 0) + b.ran AS ran
  FROM by_job b
  LEFT JOIN streaks s USING (job)
  LEFT JOIN carillon.job_health h USING (job)
  WHERE s.failures > 0 OR b.overlapped > 0 OR h.job IS NOT NULL
),
health AS (
  INSERT INTO carillon.job_health AS h (job, tenant, failures, overlapped, ran, period_ms)
  SELECT job, tenant, failures, overlapped / share, ran / share, period
  FROM (SELECT *, CASE WHEN overlapped + ran > 20 THEN 2 ELSE 1 END AS share FROM unwell) halved
  ORDER BY job
  ON CONFLICT (job) DO UPDATE
  SET failures = excluded.failures, overlapped = excluded.overlapped, ran = excluded.ran,
      period_ms = coalesce(excluded.period_ms, h.period_ms), updated_at = carillon.now_ms()
  RETURNING h.job, h.failures, h.overlapped, h.ran, h.period_ms
),
worth AS MATERIALIZED (
  SELECT b.*
  FROM by_job b
  WHERE b.failed_due IS NOT NULL OR b.missed > 0 OR b.overlapped > 0 OR b.took >= :slow_ms
     OR b.job IN (SELECT a.job FROM carillon.alerts a WHERE a.job IS NOT NULL AND a.resolved_at IS NULL)
     OR b.job IN (SELECT u.job FROM unwell u)
     OR ((b.lag >= 1000 OR b.took >= 1000)
         AND (b.tenant IN (SELECT r.tenant FROM ruled r)
              OR EXISTS (SELECT FROM carillon.jobs e
                         WHERE e.job = b.job AND e.definition ? 'expect' AND e.state IN ('active', 'paused', 'ended'))))
)
SELECT b.job, b.tenant, b.failed_due, b.missed, b.missed_due, b.ran_due, b.lag, b.started_due, b.took, b.ended_due, b.error,
       b.succeeded_at IS NOT NULL AS succeeded,
       coalesce(h.failures, 0) AS failures, coalesce(h.overlapped, 0) AS overlapped, coalesce(h.ran, 0) AS ran, h.period_ms,
       j.id::text AS uuid, j.name, j.tags, j.definition -> 'expect' AS expect, j.definition -> 'schedule' AS schedule,
       coalesce(o.open, '[]') AS open
FROM worth b
JOIN carillon.jobs j ON j.job = b.job
LEFT JOIN health h ON h.job = b.job
LEFT JOIN LATERAL (
  SELECT jsonb_agg(jsonb_build_object('kind', a.kind, 'mark', a.mark)) AS open
  FROM carillon.alerts a WHERE a.job = b.job AND a.resolved_at IS NULL
) o ON true
