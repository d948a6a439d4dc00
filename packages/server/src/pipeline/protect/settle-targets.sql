-- What only the passing of time brings about, for every host with a row; any scheduler may do it, and often.
--
-- A backlog has drained once nothing in the lanes of its host has been due for a second, but for what waits for a place of its
-- own job: the breaker is closed. So is one that has
-- been open for an hour beyond its time with nothing that could be the probe. Failures that are an hour old count no more
-- in a row; a window that is over is empty. A host that is well is not watched any more, and without limits its row goes.
-- Lock order: targets, by key, SKIP LOCKED: whoever has a row is about to change it. Index: queue_ready and queue_waiting.
-- @plan each-time
-- @param window_seconds int
-- @param max_open_seconds int
WITH clock AS MATERIALIZED (
  SELECT carillon.now_ms() AS now
),
locked AS MATERIALIZED (
  SELECT t.*, clock.now
  FROM carillon.targets t CROSS JOIN clock
  WHERE t.watched_at IS NOT NULL OR t.state <> 'closed' OR carillon.target_limitless(t)
  ORDER BY t.tenant, t.host
  FOR UPDATE OF t SKIP LOCKED
),
looked AS MATERIALIZED (
  SELECT locked.*,
         CASE
           WHEN state = 'draining' OR (state IN ('open', 'half_open') AND now > retry_at + 3600000) THEN EXISTS (
             SELECT
             FROM carillon.routes r CROSS JOIN LATERAL (
               (SELECT FROM carillon.queue q
                WHERE q.route = r.route AND q.holder IS NULL AND (q.places IS NULL OR q.slot >= 0)
                  AND q.available_at <= locked.now - 1000
                LIMIT 1)
               UNION ALL
               (SELECT FROM carillon.queue q
                WHERE q.route = r.route AND q.holder IS NULL AND q.places IS NOT NULL AND coalesce(q.slot, -1) < 0
                  AND q.available_at <= locked.now - 1000
                  AND (SELECT count(*) FROM carillon.queue other
                       WHERE other.job = q.job AND other.slot >= 0 AND other.slot < q.places) < q.places
                LIMIT 1)
             ) waits
             WHERE r.tenant = locked.tenant AND r.kind = 'http' AND r.name = locked.host)
           ELSE state <> 'closed'
         END AS stays
  FROM locked
),
settled AS MATERIALIZED (
  SELECT tenant, host, state, stays, now,
         attempts = 0 OR now >= window_at + coalesce(breaker_window_seconds, :window_seconds) * 1000::bigint AS window_over,
         coalesce(last_failed_at, 0) <= now - 3600000 AS forgotten,
         failures_in_row, since,
         coalesce(breaker_max_open_seconds, :max_open_seconds) * 1000::bigint AS max_open_ms
  FROM looked
),
gone AS (
  DELETE FROM carillon.targets t
  USING settled
  WHERE t.tenant = settled.tenant AND t.host = settled.host AND t.state = 'closed' AND carillon.target_limitless(t)
    AND settled.window_over AND (t.failures_in_row = 0 OR settled.forgotten)
    AND (t.openings = 0 OR settled.now > t.since + settled.max_open_ms)
)
UPDATE carillon.targets t
SET state = CASE WHEN stays THEN t.state ELSE 'closed' END,
    since = CASE WHEN stays OR t.state = 'closed' THEN t.since ELSE settled.now END,
    retry_at = CASE WHEN stays THEN t.retry_at END,
    attempts = CASE WHEN window_over THEN 0 ELSE t.attempts END,
    failures = CASE WHEN window_over THEN 0 ELSE t.failures END,
    failures_in_row = CASE WHEN forgotten THEN 0 ELSE t.failures_in_row END,
    watched_at = CASE WHEN stays OR NOT window_over OR (t.failures_in_row > 0 AND NOT forgotten)
                      THEN t.watched_at END
FROM settled
WHERE t.tenant = settled.tenant AND t.host = settled.host
  AND NOT (t.state = 'closed' AND carillon.target_limitless(t)
    AND settled.window_over AND (t.failures_in_row = 0 OR settled.forgotten)
    AND (t.openings = 0 OR settled.now > t.since + settled.max_open_ms))
  AND (t.state <> 'closed' AND NOT stays
       OR t.attempts > 0 AND window_over
       OR t.failures_in_row > 0 AND forgotten
       OR t.watched_at IS NOT NULL AND window_over AND t.state = 'closed' AND t.failures_in_row = 0)
RETURNING t.tenant, t.host, settled.state AS was, t.state
