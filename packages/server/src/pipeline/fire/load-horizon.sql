-- The timers of partitions whose start lies in the horizon, from where each partition was read last: at a start and, among
-- those of the same start, at a job. More of them may start at one instant than a page holds. For the wheel, which is a
-- cache: plain read, nothing depends on it.
-- Index: timers_start (partition, start_at, job), one range per partition.
-- @param partitions smallint[]
-- @param after_starts bigint[]
-- @param after_jobs bigint[]
-- @param horizon_ms bigint
-- @param most_per_partition int
SELECT here.job, here.partition, here.start_at
FROM unnest(:partitions, :after_starts, :after_jobs) AS mine (partition, after_start, after_job)
CROSS JOIN LATERAL (
  SELECT job, partition, start_at
  FROM carillon.timers
  WHERE partition = mine.partition AND start_at >= mine.after_start AND start_at <= carillon.now_ms() + :horizon_ms
    AND (start_at > mine.after_start OR job > mine.after_job)
  ORDER BY start_at, job
  LIMIT :most_per_partition
) here
