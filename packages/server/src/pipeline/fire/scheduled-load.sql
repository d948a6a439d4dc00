-- How many ticks my partitions have in the horizon, about: each timer's own and those that follow at the distance of its
-- last two ticks. For the pace of catching up; asked for only while something has to be caught up. Plain read.
-- Index: timers_start (partition, start_at, job).
-- @param partitions smallint[]
-- @param horizon_ms bigint
SELECT coalesce(sum(1 + greatest(0, carillon.now_ms() + :horizon_ms - t.start_at)
                        / greatest(1000, t.due - t.accounted_through)), 0)::bigint AS ticks
FROM carillon.timers t
WHERE t.partition = ANY (:partitions) AND t.start_at <= carillon.now_ms() + :horizon_ms
