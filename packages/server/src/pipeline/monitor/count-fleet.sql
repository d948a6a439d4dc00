-- The fleet in numbers: runs in the queue by what they do, partitions without a live owner, the earliest start that is due and was
-- not fired, dead letters up to a bound. Plain read: one pass over the queue, one look into the index for each of 256 partitions.
-- Index: timers_start.
-- @plan each-time
-- @param parked_until bigint
-- @param most_letters bigint
SELECT q.*, p.*, d.*,
       (SELECT count(*)::int FROM carillon.incarnations WHERE state = 'alive' AND tenant IS NOT NULL) AS remote_workers
FROM (
  SELECT count(*) FILTER (WHERE holder IS NOT NULL AND available_at <= carillon.now_ms())::int AS running,
         count(*) FILTER (WHERE holder IS NULL AND available_at <= carillon.now_ms())::int AS ready,
         count(*) FILTER (WHERE available_at > carillon.now_ms() AND available_at < :parked_until)::int AS ahead,
         count(*) FILTER (WHERE available_at >= :parked_until)::int AS parked,
         coalesce(carillon.now_ms() - min(available_at) FILTER (WHERE holder IS NULL AND available_at <= carillon.now_ms()), 0)
           AS oldest_ready_ms
  FROM carillon.queue
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
