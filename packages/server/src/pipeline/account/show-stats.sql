-- Jobs, runs in flight, dead letters, nodes and catching up of a tenant, counted. Goes through the queue and an index of the
-- jobs when a person looks, and a small part of the time at most (stats.ts). Plain read.
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
runs AS MATERIALIZED (
  SELECT count(*) FILTER (WHERE q.holder IS NULL AND q.available_at <= clock.now)::int AS ready,
         count(*) FILTER (WHERE q.holder IS NOT NULL AND q.available_at <= clock.now)::int AS running,
         count(*) FILTER (WHERE q.holder IS NULL AND q.attempt > 1 AND q.available_at > clock.now
                            AND q.available_at < :parked_until)::int AS waiting_retry,
         count(*) FILTER (WHERE q.available_at >= :parked_until)::int AS parked,
         min(q.available_at) FILTER (WHERE q.holder IS NULL AND q.available_at <= clock.now) AS oldest_ready
  FROM carillon.queue q CROSS JOIN clock
  WHERE q.tenant = :tenant
)
SELECT clock.now, runs.ready, runs.running, runs.waiting_retry, runs.parked, runs.oldest_ready,
       (SELECT coalesce(jsonb_object_agg(state, jobs.jobs), '{}') FROM jobs) AS jobs,
       (SELECT count(*)::int FROM carillon.dead_letters WHERE tenant = :tenant) AS dead_letters,
       (SELECT count(*)::int FROM carillon.incarnations WHERE state = 'alive' AND tenant IS NULL) AS nodes,
       replays.open AS replays, replays.ticks
FROM clock CROSS JOIN runs CROSS JOIN LATERAL (
  SELECT count(*)::int AS open, coalesce(sum(total - done), 0)::bigint AS ticks
  FROM carillon.replays
  WHERE tenant = :tenant AND state IN ('running', 'paused')
) replays
