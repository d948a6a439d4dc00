-- The job of a name: the live one, or else the latest of those that have ended. Plain read; a change looks again under the
-- lock. Index: jobs_live_name, jobs_past_name.
-- @whole definition
-- @param tenant int
-- @param name text
SELECT id AS uuid, state, definition
FROM (
  SELECT id, state, definition, 0 AS place
  FROM carillon.jobs
  WHERE tenant = :tenant AND name = :name AND state IN ('active', 'paused')
  UNION ALL
  (SELECT id, state, definition, 1 AS place
   FROM carillon.jobs
   WHERE tenant = :tenant AND name = :name AND state IN ('ended', 'cancelled')
   ORDER BY job DESC
   LIMIT 1)
) named
ORDER BY place
LIMIT 1
