-- Timers with what their next ticks are computed from. A long payload stays behind: it may be a megabyte, and the tick does
-- not depend on it. A short definition comes whole: then the worker of the same process need not read it again. One that is
-- stored compressed counts as long, since its size there says nothing. Plain read: what it sees is checked again, under
-- lock, by the firing statement.
-- Found by their start, which the caller heard of with them: behind the key of a job lies a dead version for each of its
-- ticks since the oldest open transaction began, behind a start lie only those of that instant. Compared as rows, and with
-- LIMIT, since that leaves the planner no other way; so is the job, which a planner that takes the table for empty would
-- begin with. A timer that has moved on is not found; wherever it went, the feed or
-- a scan tells of it.
-- Index: timers_start (partition, start_at, job); jobs' primary key.
-- @whole definition
-- @plan each-time
-- @param jobs bigint[]
-- @param partitions smallint[]
-- @param start_ats bigint[]
SELECT t.place, t.job, t.partition, t.tenant, t.due, t.start_at, t.rev, t.runs, t.accounted_through,
       j.id AS uuid, j.version, j.route, j.ticks_changed_until,
       CASE WHEN pg_column_size(j.definition) <= 4000 AND pg_column_compression(j.definition) IS NULL THEN j.definition
            ELSE j.definition - 'payload' - 'target' END AS definition,
       CASE WHEN pg_column_compression(j.definition) IS NULL THEN least(pg_column_size(j.definition), 4000) ELSE 4000 END AS definition_bytes,
       carillon.now_ms() AS now
FROM unnest(:jobs, :partitions, :start_ats) AS wanted (job, partition, start_at)
CROSS JOIN LATERAL (
  SELECT ctid AS place, * FROM carillon.timers
  WHERE timers.partition = wanted.partition AND timers.start_at IS NOT NULL
    AND (timers.start_at, timers.job) >= (wanted.start_at, wanted.job)
    AND (timers.start_at, timers.job) <= (wanted.start_at, wanted.job)
  ORDER BY timers.start_at, timers.job
  LIMIT 1
) t
CROSS JOIN LATERAL (SELECT * FROM carillon.jobs WHERE jobs.job = t.job LIMIT 1) j
ORDER BY t.start_at
