-- Locks the timer of a job: the first statement of every change. Whoever has this lock has the job: fires and catch-up
-- skip it, other changes wait. A statement of its own: it waits for a fire in progress, and only a statement that begins
-- after the wait has a snapshot that shows what that fire put into the queue, and which version is the present one.
-- Index: jobs.id, timers' primary key.
-- @param tenant int
-- @param uuid uuid
SELECT t.job
FROM carillon.jobs j
JOIN carillon.timers t ON t.job = j.job AND t.partition = j.partition
WHERE j.tenant = :tenant AND j.id = :uuid
FOR UPDATE OF t
