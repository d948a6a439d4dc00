-- The lanes in which this worker may lease something, with the first instants: a look before the lease, so that a pass that
-- finds nothing is cheap, and one that finds something asks only where something is. The lanes come from a function of the
-- schema, which says how it finds them.
-- `blocked`: a lane whose tenant or host may start nothing now, or whose host starts nothing ahead of its time. Nobody looks
-- into it, and it keeps its place.
-- The answer has at least one row, for the time. Plain read. Index: queue_ready and queue_waiting; primary keys.
-- @param tasks text[]
-- @param commands boolean
-- @param ahead_ms bigint
-- @param many int
-- @param from bigint
-- @param routes int[]
-- @param ready_froms bigint[]
-- @param waiting_froms bigint[]
-- @param freed bigint[]
SELECT clock.now, lane.route, lane.tenant, lane.priority, lane.ready, lane.waiting, lane.blocked
FROM (SELECT carillon.now_ms() AS now) clock
LEFT JOIN LATERAL (
  SELECT r.route, r.tenant, r.priority, found.ready, found.waiting,
         coalesce(s.taken >= s.capacity, false)
         OR coalesce(carillon.target_limits(t)
                     AND (carillon.target_room(t, clock.now) <= 0
                          OR (found.waiting IS NULL AND found.ready > clock.now)), false) AS blocked
  FROM (
    SELECT route, min(ready) AS ready, min(waiting) AS waiting
    FROM carillon.lanes_with_runs(:tasks, :commands, :ahead_ms, :many, :from, :routes, :ready_froms, :waiting_froms, :freed)
    GROUP BY route
    HAVING min(ready) IS NOT NULL OR min(waiting) IS NOT NULL
  ) found
  JOIN carillon.routes r ON r.route = found.route
  LEFT JOIN carillon.tenant_slots s ON s.tenant = r.tenant
  LEFT JOIN carillon.targets t ON r.kind = 'http' AND t.tenant = r.tenant AND t.host = r.name
  WHERE r.kind = 'http' OR (r.kind = 'task' AND r.name = ANY (:tasks)) OR (r.kind = 'command' AND :commands)
) lane ON true
