-- Locks the timers of many jobs, by key: what lock-timer.sql does for one. Index: timers' primary key.
-- @param jobs bigint[]
SELECT t.job
FROM carillon.timers t
WHERE t.job = ANY (:jobs)
ORDER BY t.job
FOR UPDATE OF t
