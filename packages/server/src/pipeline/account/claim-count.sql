-- Takes the count of runs for one pass, FOR UPDATE SKIP LOCKED: of several schedulers one counts. Answers from where to where
-- it goes: not beyond what may still be committed, not more at once than a pass can do, and nothing older than anybody asks
-- for. After the clock was set back it goes on from now. Lock: the one row.
-- @param settled_ms bigint
-- @param most_ms bigint
-- @param oldest_ms bigint
WITH clock AS MATERIALIZED (
  SELECT carillon.now_ms() AS now
),
mine AS MATERIALIZED (
  SELECT through, least(greatest(through, clock.now - :oldest_ms), clock.now - :settled_ms) AS since, clock.now
  FROM carillon.counted CROSS JOIN clock
  FOR UPDATE OF counted SKIP LOCKED
)
SELECT through, since, least(since + :most_ms, now - :settled_ms) AS until, now FROM mine
