-- Due runs that no live worker can take, by task: they wait, and somebody has to know. Plain read.
-- Index: queue_ready, one range per route without a worker.
-- @plan each-time
-- @param overdue_ms bigint
SELECT r.name AS task, waiting.runs, waiting.since
FROM carillon.routes r
CROSS JOIN LATERAL (
  SELECT count(*)::int AS runs, min(q.available_at) AS since
  FROM carillon.queue q
  WHERE q.route = r.route AND q.holder IS NULL AND q.available_at <= carillon.now_ms() - :overdue_ms
) waiting
WHERE r.kind = 'task' AND waiting.runs > 0
  AND NOT EXISTS (
    SELECT FROM carillon.incarnations i
    WHERE i.state = 'alive' AND 'worker' = ANY (i.roles) AND r.name = ANY (i.tasks)
  )
ORDER BY waiting.since
