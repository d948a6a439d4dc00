-- Adds what came of calls to the rows of their hosts, and moves their breakers. The database's clock decides.
--
-- locked   In order of their keys: several workers report the same hosts.
-- counted  A window that is over begins anew. While a breaker is open or half open nothing is counted: what comes then was begun
--          before. Failures in a row go on over windows, which is what a host with few calls is judged by.
-- judged   Closed opens by its share of failures or by failures in a row, once others had the time to report their successes;
--          draining by a third of that. Half open listens to its probe only.
-- Each opening lasts twice as long as the one before, up to a bound and a little at random, so that a fleet does not knock
-- in step; as long as the host itself asked for, if that is longer. A breaker that was closed for longer than that bound
-- begins again from the shortest.
-- Lock order: targets, by key. Index: its primary key.
-- @param tenants int[]
-- @param hosts text[]
-- @param succeeded int[]
-- @param failed int[]
-- @param in_rows int[]
-- @param errors text[]
-- @param retry_afters bigint[]
-- @param probes_succeeded int[]
-- @param probes_failed int[]
-- @param random float8
-- @param watch_ms bigint
-- @param attempts int
-- @param window_seconds int
-- @param failure_ratio float8
-- @param failures_in_row int
-- @param open_seconds int
-- @param max_open_seconds int
WITH clock AS MATERIALIZED (
  SELECT carillon.now_ms() AS now
),
given AS MATERIALIZED (
  SELECT *
  FROM unnest(:tenants, :hosts, :succeeded, :failed, :in_rows, :errors, :retry_afters, :probes_succeeded, :probes_failed)
    AS g (tenant, host, succeeded, failed, in_row, error, retry_after, probes_succeeded, probes_failed)
),
locked AS MATERIALIZED (
  SELECT *
  FROM carillon.targets
  WHERE (tenant, host) IN (SELECT tenant, host FROM given)
  ORDER BY tenant, host
  FOR UPDATE
),
counted AS MATERIALIZED (
  SELECT t.tenant, t.host, t.state, t.since, t.openings, g.failed, g.error, g.retry_after, g.probes_succeeded, g.probes_failed,
         coalesce(t.breaker_enabled, true) AS enabled,
         coalesce(t.watched_at, clock.now) AS watched_at,
         coalesce(t.breaker_attempts, :attempts) AS enough,
         coalesce(t.breaker_failure_ratio, :failure_ratio) AS ratio,
         coalesce(t.breaker_failures_in_row, :failures_in_row) AS most_in_row,
         coalesce(t.breaker_open_seconds, :open_seconds) * 1000::bigint AS open_ms,
         greatest(coalesce(t.breaker_max_open_seconds, :max_open_seconds),
                  coalesce(t.breaker_open_seconds, :open_seconds)) * 1000::bigint AS max_open_ms,
         CASE WHEN opened.now THEN clock.now WHEN over.now THEN clock.now ELSE t.window_at END AS window_at,
         CASE WHEN opened.now THEN 0 WHEN over.now THEN 0 ELSE t.attempts END
           + CASE WHEN opened.now THEN 0 ELSE g.succeeded + g.failed END AS attempts,
         CASE WHEN opened.now THEN 0 WHEN over.now THEN 0 ELSE t.failures END
           + CASE WHEN opened.now THEN 0 ELSE g.failed END AS failures,
         CASE WHEN opened.now THEN 0 WHEN g.succeeded > 0 THEN g.in_row ELSE t.failures_in_row + g.failed END AS in_row
  FROM locked t
  JOIN given g ON g.tenant = t.tenant AND g.host = t.host
  CROSS JOIN clock
  CROSS JOIN LATERAL (SELECT t.state IN ('open', 'half_open') AS now) opened
  CROSS JOIN LATERAL (
    SELECT t.attempts = 0
           OR clock.now >= t.window_at + coalesce(t.breaker_window_seconds, :window_seconds) * 1000::bigint AS now
  ) over
),
judged AS MATERIALIZED (
  SELECT counted.*,
         CASE
           WHEN NOT enabled THEN 'closed'
           WHEN state = 'half_open' AND probes_failed > 0 THEN 'open'
           WHEN state = 'half_open' AND probes_succeeded > 0 THEN 'draining'
           WHEN state IN ('closed', 'draining') AND failed > 0 AND clock.now >= watched_at + :watch_ms
             AND (in_row >= most_in_row / strict OR (attempts >= enough / strict AND failures >= ratio * attempts))
             THEN 'open'
           ELSE state
         END AS next,
         CASE WHEN state = 'closed' AND clock.now > since + max_open_ms THEN 1 ELSE openings + 1 END AS nth
  FROM counted CROSS JOIN clock
  CROSS JOIN LATERAL (SELECT CASE WHEN state = 'draining' THEN 3.0 ELSE 1.0 END AS strict) s
)
UPDATE carillon.targets t
SET state = judged.next,
    since = CASE WHEN moved THEN clock.now ELSE t.since END,
    openings = CASE WHEN moved AND next = 'open' THEN nth ELSE t.openings END,
    retry_at = CASE
      WHEN moved AND next = 'open' THEN clock.now + greatest(
        (least(open_ms * 2::float8 ^ least(nth - 1, 20), max_open_ms) * (0.8 + 0.4 * :random))::bigint, retry_after)
      WHEN next = 'closed' OR next = 'draining' THEN NULL
      ELSE t.retry_at END,
    window_at = judged.window_at,
    attempts = CASE WHEN moved THEN 0 ELSE judged.attempts END,
    failures = CASE WHEN moved THEN 0 ELSE judged.failures END,
    failures_in_row = CASE WHEN moved THEN 0 ELSE in_row END,
    watched_at = judged.watched_at,
    last_error = coalesce(judged.error, t.last_error),
    last_failed_at = CASE WHEN judged.failed > 0 THEN clock.now ELSE t.last_failed_at END,
    tokens = CASE WHEN moved AND next = 'draining' THEN 1 ELSE t.tokens END,
    tokens_at = CASE WHEN moved AND next = 'draining' THEN clock.now ELSE t.tokens_at END,
    probe_at = CASE WHEN moved THEN NULL ELSE t.probe_at END,
    probe_due = CASE WHEN moved THEN NULL ELSE t.probe_due END,
    probe_job = CASE WHEN moved THEN NULL ELSE t.probe_job END,
    probe_token = CASE WHEN moved THEN NULL ELSE t.probe_token END
FROM judged CROSS JOIN clock CROSS JOIN LATERAL (SELECT judged.next <> judged.state AS moved) change
WHERE t.tenant = judged.tenant AND t.host = judged.host
RETURNING t.tenant, t.host, judged.state AS was, t.state, t.retry_at, t.last_error
