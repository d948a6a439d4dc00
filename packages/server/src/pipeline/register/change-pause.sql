-- Gives a job that is paused another reason and end of its pause. Runs under the lock of its timer. Primary key.
-- @param job bigint
-- @param now bigint
-- @param reason text
-- @param until bigint
UPDATE carillon.jobs
SET pause_reason = :reason, paused_until = :until, changed_at = :now
WHERE job = :job AND state = 'paused'
RETURNING job
