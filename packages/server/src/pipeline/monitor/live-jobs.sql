-- Which of these jobs can still fire. Plain read. Index: jobs.id.
-- @param uuids uuid[]
SELECT j.id AS uuid FROM carillon.jobs j WHERE j.id = ANY (:uuids) AND j.state IN ('active', 'paused')
