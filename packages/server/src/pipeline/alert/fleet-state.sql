-- How the fleet is: since when no scheduler has been alive (NULL: one is), which partitions have timers and no owner, which have timers that
-- wait, and how often partitions were taken since they were made. Plain read of small tables. Index: timers_start, one step per partition.
-- @param stalled_ms bigint
-- @param beat_ms bigint
WITH clock AS MATERIALIZED (
  SELECT carillon.now_ms() AS now
),
schedulers AS MATERIALIZED (
  SELECT count(*) FILTER (WHERE i.state = 'alive' AND i.beat_at > clock.now - :beat_ms)::int AS alive,
         max(CASE WHEN i.state = 'alive' THEN i.beat_at ELSE i.ended_at END) AS last_at
  FROM carillon.incarnations i CROSS JOIN clock
  WHERE 'scheduler' = ANY (i.roles)
),
timed AS MATERIALIZED (
  SELECT p.partition, p.owner IS NULL OR p.expires_at <= clock.now AS ownerless, clock.now - first.start_at AS waits
  FROM carillon.partitions p CROSS JOIN clock
  CROSS JOIN LATERAL (
    SELECT t.start_at FROM carillon.timers t WHERE t.partition = p.partition AND t.start_at > 0 ORDER BY t.start_at, t.job LIMIT 1
  ) first
)
SELECT clock.now, s.alive AS schedulers,
       CASE WHEN s.alive = 0 THEN coalesce(s.last_at, (SELECT min(i.started_at) FROM carillon.incarnations i WHERE i.state = 'alive')) END AS none_since,
       (SELECT coalesce(jsonb_agg(partition ORDER BY partition), '[]') FROM timed WHERE ownerless) AS ownerless,
       (SELECT coalesce(jsonb_agg(partition ORDER BY partition), '[]') FROM timed WHERE waits >= :stalled_ms) AS waiting,
       (SELECT coalesce(max(waits), 0)::bigint FROM timed) AS longest,
       (SELECT sum(epoch & 1099511627775)::bigint FROM carillon.partitions) AS takeovers
FROM clock CROSS JOIN schedulers s
