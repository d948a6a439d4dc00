-- What was asked of single ticks of some jobs, after the instant that is given for each. Plain read: whoever changes one
-- holds the timer and raises its `rev`, so that a plan made before is refused. Index: tick_changes' primary key.
-- @param jobs bigint[]
-- @param afters bigint[]
SELECT c.job, c.due, c.action, c.start_at, c.reason
FROM unnest(:jobs, :afters) AS wanted (job, after)
JOIN carillon.tick_changes c ON c.job = wanted.job AND c.due > wanted.after
ORDER BY c.job, c.due
