-- What is on its way: runs in the queue by what they do, and catch-ups that are not done. Plain read, one pass over the
-- queue. Index: replays_of_job.
-- @plan each-time
-- @param parked_until bigint
SELECT carillon.now_ms() AS now, q.*, r.*
FROM (
  SELECT count(*)::int AS total,
         count(*) FILTER (WHERE holder IS NOT NULL AND available_at <= carillon.now_ms())::int AS running,
         count(*) FILTER (WHERE holder IS NULL AND available_at <= carillon.now_ms())::int AS ready,
         count(*) FILTER (WHERE available_at > carillon.now_ms() AND available_at < :parked_until)::int AS ahead,
         count(*) FILTER (WHERE available_at >= :parked_until)::int AS parked,
         min(available_at) FILTER (WHERE holder IS NULL AND available_at <= carillon.now_ms()) AS oldest_ready
  FROM carillon.queue
) q
CROSS JOIN (
  SELECT count(*) FILTER (WHERE state = 'running')::int AS replays_running,
         count(*) FILTER (WHERE state = 'paused')::int AS replays_paused,
         coalesce(sum(greatest(total - done, 0)), 0)::bigint AS ticks_left
  FROM carillon.replays
  WHERE state IN ('running', 'paused')
) r
