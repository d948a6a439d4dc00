-- Notes that a dead process holds no run any more, so that nobody looks again. Only if that is so.
-- @plan each-time
-- @param incarnation bigint
-- @param remote boolean
UPDATE carillon.incarnations
SET rescued_at = carillon.now_ms()
WHERE incarnation = :incarnation AND state <> 'alive'
  AND NOT EXISTS (SELECT FROM carillon.queue WHERE holder = :incarnation AND (NOT :remote OR deadline IS NOT NULL))
RETURNING incarnation
