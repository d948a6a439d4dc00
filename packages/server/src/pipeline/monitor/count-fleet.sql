-- The fleet in numbers: runs in the queue by what they do, partitions without a live owner, the earliest start that is due and was
-- not fired, dead letters up to a bound. Plain read: one pass over the queue, one over the hosts with limits or a breaker that is not
-- closed, one look into the index for each of 256 partitions.
-- ready: what any worker with room could take, as lease.sql has it at hand. A run that waits for a place of its own job, or whose host is
-- not called at present, waits for something else than a worker: it is late by nobody's fault.
-- Index: timers_start; routes' unique key.
-- @plan each-time
-- @param parked_until bigint
-- @param most_letters bigint
WITH held AS MATERIALIZED (
  SELECT r.route
  FROM carillon.targets t
  JOIN carillon.routes r ON r.tenant = t.tenant AND r.kind = 'http' AND r.name = t.host
  WHERE carillon.target_limits(t) AND (t.state <> 'closed' OR carillon.target_room(t, carillon.now_ms()) = 0)
)
SELECT q.*, p.*, d.*,
       (SELECT count(*)::int FROM carillon.incarnations WHERE state = 'alive' AND tenant IS NOT NULL) AS remote_workers
FROM (
  SELECT count(*) FILTER (WHERE holder IS NOT NULL AND is_due)::int AS running,
         count(*) FILTER (WHERE is_ready)::int AS ready,
         count(*) FILTER (WHERE holder IS NULL AND is_due AND NOT is_ready)::int AS waiting,
         count(*) FILTER (WHERE NOT is_due AND available_at < :parked_until)::int AS ahead,
         count(*) FILTER (WHERE available_at >= :parked_until)::int AS parked,
         coalesce(carillon.now_ms() - min(available_at) FILTER (WHERE is_ready), 0) AS oldest_ready_ms
  FROM (
    SELECT q.holder, q.available_at, q.available_at <= carillon.now_ms() AS is_due,
           q.holder IS NULL AND q.available_at <= carillon.now_ms() AND (q.places IS NULL OR coalesce(q.slot, -1) >= 0)
             AND held.route IS NULL AS is_ready
    FROM carillon.queue q
    LEFT JOIN held ON held.route = q.route
  ) run
) q
CROSS JOIN (
  SELECT count(*) FILTER (WHERE i.state IS DISTINCT FROM 'alive' OR p.expires_at <= carillon.now_ms())::int AS unowned,
         count(DISTINCT p.owner) FILTER (WHERE i.state = 'alive' AND p.expires_at > carillon.now_ms())::int AS owners,
         coalesce(carillon.now_ms() - min(oldest.start_at), 0) AS oldest_due_ms
  FROM carillon.partitions p
  LEFT JOIN carillon.incarnations i ON i.incarnation = p.owner
  LEFT JOIN LATERAL (
    SELECT t.start_at
    FROM carillon.timers t
    WHERE t.partition = p.partition AND t.start_at <= carillon.now_ms()
    ORDER BY t.start_at
    LIMIT 1
  ) oldest ON true
) p
CROSS JOIN (
  SELECT count(*)::int AS dead_letters FROM (SELECT FROM carillon.dead_letters LIMIT :most_letters) letters
) d
