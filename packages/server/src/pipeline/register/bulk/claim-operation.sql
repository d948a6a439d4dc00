-- Takes an operation for one chunk, FOR UPDATE SKIP LOCKED: of several schedulers one works on it, and who dies lets go of it
-- with its connection. The first lock of the chunk's transaction: operations, calendars, timers, queue, jobs.
-- Index: operations' primary key.
-- @param operation bigint
SELECT operation, tenant, action, filter, arguments, cursor_job, through_job, jsonb_array_length(errors) AS kept
FROM carillon.operations
WHERE operation = :operation AND state = 'running'
FOR UPDATE SKIP LOCKED
