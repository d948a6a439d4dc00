-- Takes the tail of the ledger for one look, FOR UPDATE SKIP LOCKED. Answers from where to where: not beyond what may still be committed, not
-- more at once than a look can do (`slice_ms` of time, `most` rows, but all of one millisecond), nothing older than anybody would want
-- to hear of. After the clock was set back it goes on from now. Lock: the one row. Index: ledger_recorded (with by-index.sql).
-- @param settled_ms bigint
-- @param oldest_ms bigint
-- @param most int
WITH clock AS MATERIALIZED (
  SELECT carillon.now_ms() AS now
),
mine AS MATERIALIZED (
  SELECT least(greatest(w.through, clock.now - :oldest_ms), clock.now - :settled_ms) AS since, clock.now, w.slice_ms
  FROM carillon.alert_watch w CROSS JOIN clock
  FOR UPDATE OF w SKIP LOCKED
),
slice AS MATERIALIZED (
  SELECT since, greatest(since, least(since + slice_ms, now - :settled_ms)) AS until, now, slice_ms FROM mine
)
SELECT s.since, CASE WHEN beyond.recorded_at IS NULL THEN s.until ELSE greatest(beyond.recorded_at, s.since + 1) END AS until, s.now, s.slice_ms,
       beyond.recorded_at IS NOT NULL AS full
FROM slice s
LEFT JOIN LATERAL (
  SELECT l.recorded_at FROM carillon.ledger l
  WHERE l.recorded_at >= s.since AND l.recorded_at < s.until
  ORDER BY l.recorded_at
  OFFSET :most LIMIT 1
) beyond ON true
