-- The queue in numbers: runs by what they do, and dead letters up to a bound. Plain read: one pass over the queue, one over the hosts with
-- limits or a breaker that is not closed. In a transaction that gives it its time (db/within.ts).
-- ready: what any worker with room could take, as lease.sql has it at hand. A run that waits for a place of its own job, or whose host is
-- not called at present, waits for something else than a worker: it is late by nobody's fault.
-- Index: routes' unique key.
-- @plan each-time
-- @param parked_until bigint
-- @param most_letters bigint
WITH held AS MATERIALIZED (
  SELECT r.route
  FROM carillon.targets t
  JOIN carillon.routes r ON r.tenant = t.tenant AND r.kind = 'http' AND r.name = t.host
  WHERE carillon.target_limits(t) AND (t.state <> 'closed' OR carillon.target_room(t, carillon.now_ms()) = 0)
)
SELECT q.*, d.*
FROM (
  SELECT count(*) FILTER (WHERE holder IS NOT NULL AND is_due)::int AS running,
         count(*) FILTER (WHERE is_ready)::int AS ready,
         count(*) FILTER (WHERE holder IS NULL AND is_due AND NOT is_ready)::int AS waiting,
         count(*) FILTER (WHERE NOT is_due AND available_at < :parked_until)::int AS ahead,
         count(*) FILTER (WHERE available_at >= :parked_until)::int AS parked
  FROM (
    SELECT q.holder, q.available_at, q.available_at <= carillon.now_ms() AS is_due,
           q.holder IS NULL AND q.available_at <= carillon.now_ms() AND (q.places IS NULL OR coalesce(q.slot, -1) >= 0)
             AND held.route IS NULL AS is_ready
    FROM carillon.queue q
    LEFT JOIN held ON held.route = q.route
  ) run
) q
CROSS JOIN (
  SELECT count(*)::int AS dead_letters FROM (SELECT FROM carillon.dead_letters LIMIT :most_letters) letters
) d
