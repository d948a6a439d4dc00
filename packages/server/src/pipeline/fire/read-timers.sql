-- Timers with what their next ticks are computed from. The payload stays behind: it may be a megabyte, and the tick does
-- not depend on it. Plain read: what it sees is checked again, under lock, by the firing statement.
-- Index: primary keys.
-- @param jobs bigint[]
-- @param partitions smallint[]
SELECT t.job, t.partition, t.tenant, t.due, t.start_at, t.rev, t.runs, t.accounted_through,
       j.id AS uuid, j.version, j.route, j.definition - 'payload' - 'target' AS definition,
       carillon.now_ms() AS now
FROM unnest(:jobs, :partitions) AS wanted (job, partition)
JOIN carillon.timers t ON t.job = wanted.job AND t.partition = wanted.partition
JOIN carillon.jobs j ON j.job = t.job
WHERE t.start_at IS NOT NULL
ORDER BY t.start_at
