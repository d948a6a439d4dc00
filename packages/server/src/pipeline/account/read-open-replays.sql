-- Catch-ups of some jobs that go on or are paused, and that have ticks of the range before them. Plain read.
-- Index: replays_of_job.
-- @param jobs bigint[]
-- @param from bigint
-- @param to bigint
SELECT r.job, r.from_ms, r.to_ms, r.cursor_ms, r.done, r.total, r.per_minute, r.version, r.reason, r.state
FROM carillon.replays r
WHERE r.job = ANY (:jobs) AND r.state IN ('running', 'paused') AND r.kind = 'catch_up'
  AND r.cursor_ms < :to AND r.to_ms >= :from
