-- The signs of life of the fleet: partitions without a live owner, the earliest start that is due and was not fired, the oldest run that
-- could start. Found by steps into indexes, however long the queue is: what is judged by bounds does not wait for a count. Plain read.
-- A run that could start: as in count-fleet.sql. Of each lane the first is looked at, of the first 10,000 lanes.
-- Index: timers_start, one step for each of 256 partitions; queue_ready, one step for each lane; routes' unique key.
-- @plan each-time
WITH RECURSIVE held AS MATERIALIZED (
  SELECT r.route
  FROM carillon.targets t
  JOIN carillon.routes r ON r.tenant = t.tenant AND r.kind = 'http' AND r.name = t.host
  WHERE carillon.target_limits(t) AND (t.state <> 'closed' OR carillon.target_room(t, carillon.now_ms()) = 0)
),
lanes AS (
  (SELECT q.route, q.available_at, 1 AS place
   FROM carillon.queue q
   WHERE q.holder IS NULL AND (q.places IS NULL OR q.slot >= 0)
   ORDER BY q.route, q.available_at
   LIMIT 1)
  UNION ALL
  SELECT next.route, next.available_at, lanes.place + 1
  FROM lanes CROSS JOIN LATERAL (
    SELECT q.route, q.available_at
    FROM carillon.queue q
    WHERE q.route > lanes.route AND q.holder IS NULL AND (q.places IS NULL OR q.slot >= 0)
    ORDER BY q.route, q.available_at
    LIMIT 1
  ) next
  WHERE lanes.place < 10000
)
SELECT p.*,
       (SELECT greatest(coalesce(carillon.now_ms() - min(available_at), 0), 0)
        FROM lanes WHERE route NOT IN (SELECT route FROM held)) AS oldest_ready_ms,
       (SELECT count(*)::int FROM carillon.incarnations WHERE state = 'alive' AND tenant IS NOT NULL) AS remote_workers
FROM (
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
