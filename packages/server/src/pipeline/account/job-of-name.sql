-- The job that a person means by a name: the live one that has it, or else the latest that had it, for which all jobs of
-- the tenant are looked through. Plain read. Index: jobs_live_name.
-- @param tenant int
-- @param name text
(SELECT j.id::text AS uuid FROM carillon.jobs j
 WHERE j.tenant = :tenant AND j.name = :name AND j.state IN ('active', 'paused'))
UNION ALL
(SELECT j.id::text FROM carillon.jobs j
 WHERE j.tenant = :tenant AND j.name = :name AND j.state NOT IN ('active', 'paused')
 ORDER BY j.job DESC
 LIMIT 1)
LIMIT 1
