-- Timers of my partitions that start within the staging time, earliest first in each partition, from where the last full
-- page of the partition ended: at a start and, among those of the same start, at a job; else from where the caller says,
-- so that entries of ticks long over, which an old transaction keeps, are not read each time. This finds what the wheel has not heard of: nothing depends on the feed.
-- Plain read: what it sees is checked again, under lock, by the firing statement.
-- Answers one row of columns, each in the same order.
-- Index: timers_start (partition, start_at, job), one range per partition.
-- @param partitions smallint[]
-- @param from_starts bigint[]
-- @param from_jobs bigint[]
-- @param ahead_ms bigint
-- @param most_per_partition int
SELECT coalesce(array_agg(here.job), '{}') AS jobs, coalesce(array_agg(here.partition::bigint), '{}') AS partitions,
       coalesce(array_agg(here.start_at), '{}') AS start_ats, carillon.now_ms() AS now
FROM unnest(:partitions, :from_starts, :from_jobs) AS mine (partition, from_start, from_job)
CROSS JOIN LATERAL (
  SELECT job, partition, start_at
  FROM carillon.timers
  WHERE partition = mine.partition AND start_at >= mine.from_start AND start_at <= carillon.now_ms() + :ahead_ms
    AND (start_at > mine.from_start OR job > mine.from_job)
  ORDER BY start_at, job
  LIMIT :most_per_partition
) here
