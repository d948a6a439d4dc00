-- What is on its way: runs in the queue by what they do, and catch-ups that are not done. Plain read, one pass over the
-- queue. ready and waiting: as in monitor/count-fleet.sql. Index: replays_of_job, routes' unique key.
-- @plan each-time
-- @param parked_until bigint
WITH held AS MATERIALIZED (
  SELECT r.route
  FROM carillon.targets t
  JOIN carillon.routes r ON r.tenant = t.tenant AND r.kind = 'http' AND r.name = t.host
  WHERE carillon.target_limits(t) AND (t.state <> 'closed' OR carillon.target_room(t, carillon.now_ms()) = 0)
)
SELECT carillon.now_ms() AS now, q.*, r.*
FROM (
  SELECT count(*)::int AS total,
         count(*) FILTER (WHERE holder IS NOT NULL AND is_due)::int AS running,
         count(*) FILTER (WHERE is_ready)::int AS ready,
         count(*) FILTER (WHERE holder IS NULL AND is_due AND NOT is_ready)::int AS waiting,
         count(*) FILTER (WHERE NOT is_due AND available_at < :parked_until)::int AS ahead,
         count(*) FILTER (WHERE available_at >= :parked_until)::int AS parked,
         min(available_at) FILTER (WHERE is_ready) AS oldest_ready
  FROM (
    SELECT q.holder, q.available_at, q.available_at <= carillon.now_ms() AS is_due,
           q.holder IS NULL AND q.available_at <= carillon.now_ms() AND (q.places IS NULL OR coalesce(q.slot, -1) >= 0)
             AND held.route IS NULL AS is_ready
    FROM carillon.queue q
    LEFT JOIN held ON held.route = q.route
  ) run
) q
CROSS JOIN (
  SELECT count(*) FILTER (WHERE state = 'running')::int AS replays_running,
         count(*) FILTER (WHERE state = 'paused')::int AS replays_paused,
         coalesce(sum(greatest(total - done, 0)), 0)::bigint AS ticks_left
  FROM carillon.replays
  WHERE state IN ('running', 'paused')
) r
