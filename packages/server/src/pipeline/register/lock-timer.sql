-- Locks the timer of a job, before delete-job.sql in the same transaction. A statement of its own: it waits for a fire
-- in progress, and only a statement that begins after the wait has a snapshot that shows what that fire put into the
-- queue. In one statement the run would stay behind, and start after the delete was acknowledged.
-- Index: jobs.id, timers' primary key.
-- @param tenant int
-- @param uuid uuid
SELECT t.due, j.definition, carillon.now_ms() AS now
FROM carillon.jobs j
JOIN carillon.timers t ON t.job = j.job AND t.partition = j.partition
WHERE j.tenant = :tenant AND j.id = :uuid
FOR UPDATE OF t
