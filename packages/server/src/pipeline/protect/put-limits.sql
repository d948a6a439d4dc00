-- Sets the limits that are given, each on its own; null takes one away. A new bucket is full. Where the runs at the host are
-- to be counted, they are counted here, behind lock-queue.sql. Lock: the row.
-- @plan each-time
-- @param tenant int
-- @param host text
-- @param changes text
-- @param count boolean
WITH given AS MATERIALIZED (
  SELECT :changes::jsonb AS fields
),
held AS MATERIALIZED (
  SELECT count(*)::int AS runs
  FROM carillon.queue q JOIN carillon.routes r ON r.route = q.route
  WHERE :count AND q.holder IS NOT NULL AND r.tenant = :tenant AND r.kind = 'http' AND r.name = :host
),
made AS MATERIALIZED (
  SELECT (jsonb_populate_record(NULL::carillon.targets, fields)).*, held.runs FROM given CROSS JOIN held
)
INSERT INTO carillon.targets AS t (tenant, host, rate_per_second, burst, max_concurrent, timeout_seconds, drain_per_second,
                                   breaker_enabled, breaker_attempts, breaker_window_seconds, breaker_failure_ratio,
                                   breaker_failures_in_row, breaker_open_seconds, breaker_max_open_seconds, tokens, in_use)
SELECT :tenant, :host, rate_per_second, burst, max_concurrent, timeout_seconds, drain_per_second,
       breaker_enabled, breaker_attempts, breaker_window_seconds, breaker_failure_ratio,
       breaker_failures_in_row, breaker_open_seconds, breaker_max_open_seconds,
       coalesce(burst, greatest(1, ceil(rate_per_second))), runs
FROM made
ON CONFLICT (tenant, host) DO UPDATE
SET (rate_per_second, burst, max_concurrent, timeout_seconds, drain_per_second, breaker_enabled, breaker_attempts,
     breaker_window_seconds, breaker_failure_ratio, breaker_failures_in_row, breaker_open_seconds,
     breaker_max_open_seconds, tokens, tokens_at, in_use, state, since, retry_at) = (
  SELECT changed.rate_per_second, changed.burst, changed.max_concurrent, changed.timeout_seconds, changed.drain_per_second,
         changed.breaker_enabled, changed.breaker_attempts, changed.breaker_window_seconds,
         changed.breaker_failure_ratio, changed.breaker_failures_in_row, changed.breaker_open_seconds,
         changed.breaker_max_open_seconds,
         CASE WHEN t.rate_per_second IS NULL THEN coalesce(changed.burst, greatest(1, ceil(changed.rate_per_second)))
              ELSE (carillon.target_bucket(t, carillon.now_ms())).tokens END,
         carillon.now_ms(),
         CASE WHEN :count THEN EXCLUDED.in_use ELSE t.in_use END,
         CASE WHEN changed.breaker_enabled IS FALSE THEN 'closed' ELSE t.state END,
         CASE WHEN changed.breaker_enabled IS FALSE AND t.state <> 'closed' THEN carillon.now_ms() ELSE t.since END,
         CASE WHEN changed.breaker_enabled IS FALSE THEN NULL ELSE t.retry_at END
  FROM jsonb_populate_record(t, :changes::jsonb) changed)
