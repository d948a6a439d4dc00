-- The hosts that http jobs of a tenant call, or that have limits or failed of late, by name: a page of them, or one. Runs that
-- wait are counted up to a bound; those in flight in one pass over the queue. Plain read. The looks for jobs are subqueries by
-- route: EXISTS and a plain join may be hashed over all jobs.
-- Index: routes' unique key, targets' primary key, jobs_by_route, queue_ready, queue_waiting.
-- @plan each-time
-- @param tenant int
-- @param host text
-- @param after text
-- @param most int
-- @param most_waiting int
WITH clock AS MATERIALIZED (
  SELECT carillon.now_ms() AS now
),
known AS MATERIALIZED (
  SELECT h.host
  FROM (
    SELECT name AS host FROM carillon.routes WHERE tenant = :tenant AND kind = 'http' AND name > :after
    UNION
    SELECT host FROM carillon.targets WHERE tenant = :tenant AND host > :after
  ) h
  WHERE (:host IS NULL OR h.host = :host)
    AND (EXISTS (SELECT FROM carillon.targets t WHERE t.tenant = :tenant AND t.host = h.host)
         OR (SELECT true FROM carillon.routes r
             CROSS JOIN LATERAL (
               SELECT FROM carillon.jobs j WHERE j.route = r.route AND j.state IN ('active', 'paused') LIMIT 1
             ) used
             WHERE r.tenant = :tenant AND r.kind = 'http' AND r.name = h.host
             LIMIT 1))
  ORDER BY h.host
  LIMIT :most
),
held AS MATERIALIZED (
  SELECT r.name AS host, count(*)::int AS runs
  FROM carillon.queue q JOIN carillon.routes r ON r.route = q.route
  WHERE q.holder IS NOT NULL AND q.tenant = :tenant AND r.kind = 'http' AND q.available_at <= carillon.now_ms()
  GROUP BY r.name
)
SELECT known.host, called.jobs, coalesce(held.runs, 0) AS in_flight, waits.runs AS waiting, waits.since AS waiting_since,
       clock.now, t.rate_per_second, t.burst, t.max_concurrent, t.timeout_seconds, t.drain_per_second, t.breaker_enabled,
       t.breaker_attempts, t.breaker_window_seconds, t.breaker_failure_ratio, t.breaker_failures_in_row,
       t.breaker_open_seconds, t.breaker_max_open_seconds, coalesce(t.state, 'closed') AS state,
       CASE WHEN t.openings > 0 OR t.state <> 'closed' THEN t.since END AS since, t.retry_at, coalesce(t.openings, 0) AS openings,
       coalesce(t.attempts, 0) AS attempts, coalesce(t.failures, 0) AS failures,
       coalesce(t.failures_in_row, 0) AS failures_in_row, t.last_error, t.last_failed_at
FROM known
CROSS JOIN clock
LEFT JOIN carillon.targets t ON t.tenant = :tenant AND t.host = known.host
LEFT JOIN held ON held.host = known.host
CROSS JOIN LATERAL (
  SELECT coalesce(sum(mine.jobs), 0)::int AS jobs
  FROM carillon.routes r
  CROSS JOIN LATERAL (
    SELECT count(*) AS jobs FROM carillon.jobs j WHERE j.route = r.route AND j.state IN ('active', 'paused')
  ) mine
  WHERE r.tenant = :tenant AND r.kind = 'http' AND r.name = known.host
) called
CROSS JOIN LATERAL (
  SELECT least(count(*), :most_waiting)::int AS runs, min(due.available_at) AS since
  FROM carillon.routes r CROSS JOIN LATERAL (
    (SELECT q.available_at
     FROM carillon.queue q
     WHERE q.route = r.route AND q.holder IS NULL AND (q.places IS NULL OR q.slot >= 0) AND q.available_at <= clock.now
     ORDER BY q.available_at
     LIMIT :most_waiting)
    UNION ALL
    (SELECT q.available_at
     FROM carillon.queue q
     WHERE q.route = r.route AND q.holder IS NULL AND q.places IS NOT NULL AND coalesce(q.slot, -1) < 0
       AND q.available_at <= clock.now
     ORDER BY q.available_at
     LIMIT :most_waiting)
  ) due
  WHERE r.tenant = :tenant AND r.kind = 'http' AND r.name = known.host
) waits
ORDER BY known.host
