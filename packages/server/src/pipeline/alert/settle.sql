-- Closes events that nobody else can close: what a process that is no longer alive said of itself, and what has
-- happened and is no state, such as a step of a clock, after `stale_ms`. Index: alerts_open holds the open ones only, and they are few; incarnations' primary key.
-- @param stale_ms bigint
UPDATE carillon.alerts a
SET resolved_at = carillon.now_ms()
WHERE a.resolved_at IS NULL
  AND ((a.detail ? 'incarnation' AND NOT EXISTS (
          SELECT FROM carillon.incarnations i
          WHERE i.incarnation = (a.detail ->> 'incarnation')::bigint AND i.state = 'alive'))
       OR (a.kind IN ('clock_step', 'tick_change_dropped', 'enqueue_refused') AND a.raised_at <= carillon.now_ms() - :stale_ms))
RETURNING a.alert
