-- Gives jobs that are paused another end of their pause, and another reason where one is given: whoever pauses again
-- without a word takes nobody's reason away. Runs under the locks of their timers. Primary key.
-- @param jobs bigint[]
-- @param now bigint
-- @param reason text
-- @param untils bigint[]
UPDATE carillon.jobs j
SET pause_reason = coalesce(:reason, j.pause_reason), paused_until = paused.until, changed_at = :now
FROM unnest(:jobs, :untils) AS paused (job, until)
WHERE j.job = paused.job AND j.state = 'paused'
RETURNING j.job
