-- Takes the watch for one look, FOR UPDATE SKIP LOCKED: of all processes one looks, and none right after another unless much is left to look
-- at. Lock: the one row.
-- @param every_ms bigint
-- @param settled_ms bigint
SELECT clock.now, w.memory, w.pinged_at
FROM carillon.alert_watch w CROSS JOIN (SELECT carillon.now_ms() AS now) clock
WHERE w.looked_at <= clock.now - :every_ms OR w.looked_at > clock.now OR w.through < clock.now - :settled_ms - w.slice_ms
FOR UPDATE OF w SKIP LOCKED
