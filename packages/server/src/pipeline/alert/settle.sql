-- Closes alerts that nobody else can close: what a process that is no longer alive said of itself; what has happened and is no state,
-- such as a step of a clock, after `stale_ms`; what stands for many and had no further one for `quiet_ms`; and what was found of a job
-- that has come to its end, with nothing of it in flight. Index: alerts_open holds the open ones only, and they are few; primary
-- keys of incarnations, jobs and queue.
-- @plan each-time
-- @param stale_ms bigint
-- @param quiet_ms bigint
-- @param delay_ms bigint
UPDATE carillon.alerts a
SET resolved_at = carillon.now_ms(), route_at = carillon.now_ms() + :delay_ms
WHERE a.resolved_at IS NULL
  AND ((a.detail ? 'incarnation' AND NOT EXISTS (
          SELECT FROM carillon.incarnations i
          WHERE i.incarnation = (a.detail ->> 'incarnation')::bigint AND i.state = 'alive'))
       OR (a.kind IN ('clock_step', 'tick_change_dropped', 'enqueue_refused') AND a.raised_at <= carillon.now_ms() - :stale_ms)
       OR (a.job IS NULL AND right(a.fingerprint, 4) = 'many' AND a.last_seen_at <= carillon.now_ms() - :quiet_ms)
       OR (a.job IS NOT NULL AND a.kind IN ('failed_in_row', 'late_start', 'slow_run', 'missed_tick', 'cadence_drift')
           AND NOT EXISTS (SELECT FROM carillon.jobs j WHERE j.job = a.job AND j.state IN ('active', 'paused'))
           AND NOT EXISTS (SELECT FROM carillon.queue q WHERE q.job = a.job)))
RETURNING a.alert
