-- Due runs that no live worker can take, by task, and those of commands (task ''): they wait, and somebody has to know. Plain read.
-- Index: queue_ready and queue_waiting, one range each per route without a worker.
-- @plan each-time
-- @param overdue_ms bigint
SELECT r.kind, r.name AS task, sum(waiting.runs)::int AS runs, min(waiting.since) AS since
FROM carillon.routes r
CROSS JOIN LATERAL (
  SELECT count(*) AS runs, min(q.available_at) AS since
  FROM carillon.queue q
  WHERE q.route = r.route AND q.holder IS NULL AND (q.places IS NULL OR q.slot >= 0)
    AND q.available_at <= carillon.now_ms() - :overdue_ms
  UNION ALL
  SELECT count(*), min(q.available_at)
  FROM carillon.queue q
  WHERE q.route = r.route AND q.holder IS NULL AND q.places IS NOT NULL AND coalesce(q.slot, -1) < 0
    AND q.available_at <= carillon.now_ms() - :overdue_ms
) waiting
WHERE r.kind IN ('task', 'command') AND waiting.runs > 0
  AND NOT EXISTS (
    SELECT FROM carillon.incarnations i
    WHERE i.state = 'alive' AND 'worker' = ANY (i.roles)
      AND CASE r.kind WHEN 'task' THEN r.name = ANY (i.tasks) ELSE i.commands END
  )
GROUP BY r.kind, r.name
ORDER BY since
