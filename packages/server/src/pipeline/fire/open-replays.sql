-- What has to be caught up in my partitions: replays that run, and the ticks left in them. Plain read.
-- Index: replays_running.
-- @param partitions smallint[]
SELECT count(*)::int AS replays, coalesce(sum(total - done), 0)::bigint AS ticks, min(cursor_ms) AS oldest
FROM carillon.replays
WHERE partition = ANY (:partitions) AND state = 'running' AND kind = 'catch_up'
