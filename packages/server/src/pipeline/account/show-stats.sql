-- Jobs, runs in flight, dead letters, nodes and catching up of a tenant, counted. Goes through the queue and an index of the
-- jobs when a person looks, and a small part of the time at most (stats.ts). Plain read. ready and waiting: as in monitor/count-fleet.sql.
-- Index: jobs_by_state, dead_letters_latest.
-- @plan each-time
-- @param tenant int
-- @param parked_until bigint
WITH clock AS MATERIALIZED (
  SELECT carillon.now_ms() AS now
),
jobs AS MATERIALIZED (
  SELECT state, count(*)::int AS jobs
  FROM carillon.jobs
  WHERE tenant = :tenant AND state IN ('active', 'paused', 'ended', 'cancelled')
  GROUP BY state
),
held AS MATERIALIZED (
  SELECT r.route
  FROM carillon.targets t CROSS JOIN clock
  JOIN carillon.routes r ON r.tenant = t.tenant AND r.kind = 'http' AND r.name = t.host
  WHERE t.tenant = :tenant AND carillon.target_limits(t) AND (t.state <> 'closed' OR carillon.target_room(t, clock.now) = 0)
),
runs AS MATERIALIZED (
  SELECT count(*) FILTER (WHERE is_ready)::int AS ready,
         count(*) FILTER (WHERE holder IS NULL AND is_due AND NOT is_ready)::int AS waiting,
         count(*) FILTER (WHERE holder IS NOT NULL AND is_due)::int AS running,
         count(*) FILTER (WHERE holder IS NULL AND attempt > 1 AND NOT is_due AND available_at < :parked_until)::int AS waiting_retry,
         count(*) FILTER (WHERE available_at >= :parked_until)::int AS parked,
         min(available_at) FILTER (WHERE is_ready) AS oldest_ready
  FROM (
    SELECT q.holder, q.attempt, q.available_at, q.available_at <= clock.now AS is_due,
           q.holder IS NULL AND q.available_at <= clock.now AND (q.places IS NULL OR coalesce(q.slot, -1) >= 0)
             AND held.route IS NULL AS is_ready
    FROM carillon.queue q CROSS JOIN clock
    LEFT JOIN held ON held.route = q.route
    WHERE q.tenant = :tenant
  ) run
)
SELECT clock.now, runs.ready, runs.waiting, runs.running, runs.waiting_retry, runs.parked, runs.oldest_ready,
       (SELECT coalesce(jsonb_object_agg(state, jobs.jobs), '{}') FROM jobs) AS jobs,
       (SELECT count(*)::int FROM carillon.dead_letters WHERE tenant = :tenant) AS dead_letters,
       (SELECT count(*)::int FROM carillon.incarnations WHERE state = 'alive' AND tenant IS NULL) AS nodes,
       replays.open AS replays, replays.ticks
FROM clock CROSS JOIN runs CROSS JOIN LATERAL (
  SELECT count(*)::int AS open, coalesce(sum(total - done), 0)::bigint AS ticks
  FROM carillon.replays
  WHERE tenant = :tenant AND state IN ('running', 'paused')
) replays
