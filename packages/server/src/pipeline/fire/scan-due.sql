-- Timers of my partitions that start within the staging time, earliest first in each partition. `passed` leaves out
-- the first ones of a partition: those that passes just before saw and could not move.
-- The payload stays behind: it may be a megabyte, and the tick does not depend on it.
-- Plain read: what it sees is checked again, under lock, by the firing statement.
-- Index: timers_start (partition, start_at), one range per partition; then jobs by primary key.
-- @param partitions smallint[]
-- @param passed int[]
-- @param ahead_ms bigint
-- @param most_per_partition int
-- @param most int
SELECT t.job, t.partition, t.tenant, t.due, t.start_at, t.rev, t.accounted_through,
       j.id AS uuid, j.version, j.route, j.definition - 'payload' - 'target' AS definition,
       carillon.now_ms() AS now
FROM (
  SELECT due_here.*
  FROM unnest(:partitions, :passed) AS mine (partition, passed)
  CROSS JOIN LATERAL (
    SELECT job, partition, tenant, due, start_at, rev, accounted_through
    FROM carillon.timers
    WHERE partition = mine.partition AND start_at <= carillon.now_ms() + :ahead_ms
    ORDER BY start_at
    OFFSET mine.passed
    LIMIT :most_per_partition
  ) due_here
  ORDER BY due_here.start_at
  LIMIT :most
) t
JOIN carillon.jobs j ON j.job = t.job
ORDER BY t.start_at
