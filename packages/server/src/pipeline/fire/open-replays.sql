-- What has to be caught up in my partitions: replays that run, and the ticks left in them. How many backfills there are
-- beside: nobody missed their ticks, and no event tells of them. Plain read.
-- Index: replays_running.
-- @param partitions smallint[]
SELECT count(*) FILTER (WHERE kind = 'catch_up')::int AS replays,
       coalesce(sum(total - done) FILTER (WHERE kind = 'catch_up'), 0)::bigint AS ticks,
       count(*) FILTER (WHERE kind = 'backfill')::int AS backfills
FROM carillon.replays
WHERE partition = ANY (:partitions) AND state = 'running'
