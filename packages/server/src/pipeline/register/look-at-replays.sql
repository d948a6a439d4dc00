-- What jobs still have to catch up, with the definition that names the ticks. Runs under the locks of their timers, without
-- which nobody moves a replay. Index: replays_of_job, primary keys.
-- @whole definition
-- @param jobs bigint[]
SELECT r.replay, r.to_ms, coalesce(old.definition, j.definition) - 'payload' - 'target' AS definition
FROM carillon.replays r
JOIN carillon.jobs j ON j.job = r.job
LEFT JOIN carillon.job_versions old ON old.job = r.job AND old.version = r.version AND j.version <> r.version
WHERE r.job = ANY (:jobs) AND r.state IN ('running', 'paused')
ORDER BY r.replay
