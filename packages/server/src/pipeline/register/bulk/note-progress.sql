-- How far an operation is, in the transaction of the chunk that it counts. Lock: the row, held since claim-operation.sql.
-- Index: operations' primary key.
-- @param operation bigint
-- @param cursor_job bigint
-- @param done int
-- @param failed int
-- @param errors jsonb
-- @param ends boolean
UPDATE carillon.operations o
SET cursor_job = :cursor_job, done = o.done + :done, failed = o.failed + :failed, errors = o.errors || :errors,
    state = CASE WHEN NOT :ends THEN 'running' WHEN o.done + :done = 0 AND o.failed + :failed > 0 THEN 'failed' ELSE 'done' END,
    finished_at = CASE WHEN :ends THEN carillon.now_ms() END
WHERE o.operation = :operation
RETURNING o.state
