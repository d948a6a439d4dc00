-- Takes the watch for one pass, FOR UPDATE SKIP LOCKED: of all processes one looks, and none right after another unless much is left to look at. Answers from where to
-- where in the ledger: not beyond what may still be committed, not more at once than a pass can do, nothing older than anybody would
-- want to hear of. After the clock was set back it goes on from now. Lock: the one row.
-- @param every_ms bigint
-- @param settled_ms bigint
-- @param most_ms bigint
-- @param oldest_ms bigint
WITH clock AS MATERIALIZED (
  SELECT carillon.now_ms() AS now
),
mine AS MATERIALIZED (
  SELECT w.through, least(greatest(w.through, clock.now - :oldest_ms), clock.now - :settled_ms) AS since, clock.now, w.memory,
         w.pinged_at
  FROM carillon.alert_watch w CROSS JOIN clock
  WHERE w.looked_at <= clock.now - :every_ms OR w.looked_at > clock.now OR w.through < clock.now - :settled_ms - :most_ms
  FOR UPDATE OF w SKIP LOCKED
)
SELECT since, greatest(since, least(since + :most_ms, now - :settled_ms)) AS until, now, memory, pinged_at FROM mine
