-- The feed: jobs of my partitions that were registered, edited, paused, resumed, deleted or triggered since the owner last
-- looked, with their cursors as they are now. The caller asks again for some seconds that it has seen: a transaction that
-- commits late is found then, and what is later still by scan-due.sql. A long answer comes in pages, by change and job.
-- A job in its first version that starts beyond the horizon is left out: the wheel has no use for it, and thousands may be
-- registered in a second. One that starts well beyond it was never told (changed_at 0) until it is first changed.
-- Plain read. Index: jobs_changed, timers' primary key.
-- @param partitions smallint[]
-- @param since bigint
-- @param after bigint
-- @param horizon_ms bigint
-- @param most int
SELECT j.job, j.partition, t.start_at, j.changed_at, carillon.now_ms() AS now
FROM carillon.jobs j
LEFT JOIN carillon.timers t ON t.job = j.job AND t.partition = j.partition
WHERE j.changed_at > 0 AND j.changed_at >= :since AND (j.changed_at > :since OR j.job > :after) AND j.partition = ANY (:partitions)
  AND (t.start_at IS NULL OR t.start_at <= carillon.now_ms() + :horizon_ms OR j.version > 1)
ORDER BY j.changed_at, j.job
LIMIT :most
