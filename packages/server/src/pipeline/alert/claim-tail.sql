-- Takes the tail of the ledger for one look, FOR UPDATE SKIP LOCKED. Answers from where to where: not beyond what may still be committed, not
-- more at once than a look can do (`slice_ms` of time, `most` rows of which something may have to be said, but all of one millisecond),
-- nothing older than anybody would want to hear of; and the jobs of these rows (`noted`), which read-tail.sql puts together. Each row of
-- the ledger is looked at once for this: where every job is well, that is all it costs. After the clock was set back it goes on from
-- now. Lock: the one row. Index: ledger_recorded (with by-index.sql), alerts_open_of_job, jobs' primary key.
-- OFFSET 0: what is asked of these rows must not decide how they are found. For jobs in their order the planner would read all of the ledger by ledger_history.
-- @param settled_ms bigint
-- @param oldest_ms bigint
-- @param most int
-- @param slow_ms bigint
WITH ruled AS MATERIALIZED (
  SELECT DISTINCT r.tenant FROM carillon.alert_rules r
  WHERE r.kind = 'late_start' AND r.enabled AND r.params ? 'start_within_seconds'
),
expected AS MATERIALIZED (
  SELECT EXISTS (SELECT FROM ruled) OR x.known AS by_any FROM carillon.expectation x
),
clock AS MATERIALIZED (
  SELECT carillon.now_ms() AS now
),
mine AS MATERIALIZED (
  SELECT least(greatest(w.through, clock.now - :oldest_ms), clock.now - :settled_ms) AS since, clock.now, w.slice_ms
  FROM carillon.alert_watch w CROSS JOIN clock
  FOR UPDATE OF w SKIP LOCKED
),
slice AS MATERIALIZED (
  SELECT since, greatest(since, least(since + slice_ms, now - :settled_ms)) AS until, now, slice_ms FROM mine
),
told AS MATERIALIZED (
  SELECT l.job, l.recorded_at
  FROM slice s
  CROSS JOIN LATERAL (
    SELECT l.job, l.recorded_at FROM carillon.ledger l
    WHERE l.recorded_at >= s.since AND l.recorded_at < s.until
      AND (l.outcome NOT IN ('success', 'stale') OR l.catch_up OR l.finished_at - l.started_at >= :slow_ms
           OR l.job IN (SELECT h.job FROM carillon.job_health h)
           OR l.job IN (SELECT a.job FROM carillon.alerts a WHERE a.job IS NOT NULL AND a.resolved_at IS NULL)
           OR ((SELECT by_any FROM expected) AND (l.started_at - l.available_at >= 1000 OR l.finished_at - l.started_at >= 1000)
               AND (l.tenant IN (SELECT r.tenant FROM ruled r)
                    OR EXISTS (SELECT FROM carillon.jobs e WHERE e.job = l.job AND e.definition ? 'expect' AND e.state IN ('active', 'paused', 'ended')))))
    OFFSET 0
  ) l
),
bounded AS MATERIALIZED (
  SELECT s.since, CASE WHEN beyond.recorded_at IS NULL THEN s.until ELSE greatest(beyond.recorded_at, s.since + 1) END AS until, s.now, s.slice_ms,
         beyond.recorded_at IS NOT NULL AS full
  FROM slice s
  LEFT JOIN LATERAL (SELECT t.recorded_at FROM told t ORDER BY t.recorded_at OFFSET :most LIMIT 1) beyond ON true
)
SELECT b.*, ARRAY(SELECT DISTINCT t.job FROM told t WHERE t.recorded_at < b.until) AS noted
FROM bounded b
