-- Runs that should have started, and have not: in the queue, without a worker, of jobs that expect to start within a time; and ticks that
-- nobody has fired. By route and by partition, the oldest first, so many of each: what is behind them is no better off. Plain read.
-- Where nobody expects anything, no rule and no job, none of it is read.
-- Index: queue_ready and queue_waiting, one range each per route; timers_start, one range per partition; jobs' primary key.
-- @plan each-time
-- @param most int
-- @param parked_until bigint
WITH RECURSIVE clock AS MATERIALIZED (
  SELECT carillon.now_ms() AS now
),
ruled AS MATERIALIZED (
  SELECT DISTINCT r.tenant FROM carillon.alert_rules r
  WHERE r.kind = 'late_start' AND r.params ? 'start_within_seconds'
),
expected AS MATERIALIZED (
  SELECT EXISTS (SELECT FROM ruled) OR x.known AS by_any FROM carillon.expectation x
),
lanes AS (
  SELECT r.route, 1 AS place FROM (SELECT min(route) AS route FROM carillon.routes) r WHERE r.route IS NOT NULL AND (SELECT by_any FROM expected)
  UNION ALL
  SELECT (SELECT min(r.route) FROM carillon.routes r WHERE r.route > lanes.route), lanes.place + 1
  FROM lanes WHERE lanes.route IS NOT NULL AND lanes.place < 2000
),
late AS MATERIALIZED (
  SELECT waiting.job, waiting.due, waiting.since
  FROM clock CROSS JOIN lanes CROSS JOIN LATERAL (
    (SELECT q.job, q.due, q.available_at AS since FROM carillon.queue q
     WHERE q.route = lanes.route AND q.holder IS NULL AND (q.places IS NULL OR q.slot >= 0) AND q.attempt = 1 AND NOT q.catch_up
       AND q.available_at <= clock.now - 1000
     ORDER BY q.available_at LIMIT :most)
    UNION ALL
    (SELECT q.job, q.due, q.available_at FROM carillon.queue q
     WHERE q.route = lanes.route AND q.holder IS NULL AND q.places IS NOT NULL AND coalesce(q.slot, -1) < 0 AND q.attempt = 1
       AND NOT q.catch_up AND q.available_at <= clock.now - 1000
     ORDER BY q.available_at LIMIT :most)
  ) waiting
  UNION ALL
  SELECT unfired.job, unfired.due, unfired.start_at
  FROM clock CROSS JOIN generate_series(0, 255) AS p (partition) CROSS JOIN LATERAL (
    SELECT t.job, t.due, t.start_at FROM carillon.timers t
    WHERE t.partition = p.partition AND t.start_at <= clock.now - 1000
    ORDER BY t.start_at LIMIT :most
  ) unfired
  WHERE (SELECT by_any FROM expected)
)
SELECT late.job, j.tenant, late.due, clock.now - late.since AS lag, j.id::text AS uuid, j.name, j.tags, j.expect
FROM late CROSS JOIN clock
CROSS JOIN LATERAL (
  SELECT w.tenant, w.id, w.name, w.tags, w.definition -> 'expect' AS expect
  FROM carillon.jobs w
  WHERE w.job = late.job
    AND (w.tenant IN (SELECT r.tenant FROM ruled r)
         OR w.definition ? 'expect')
  OFFSET 0
) j
WHERE late.since < :parked_until
