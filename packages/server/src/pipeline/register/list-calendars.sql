-- The calendars of a tenant, or the one of a name, with the number of live jobs that name each. Plain read.
-- Index: calendars (tenant, name), jobs_excluding.
-- @param tenant int
-- @param name text
SELECT c.name, c.version, c.definition, c.updated_at,
       (SELECT count(*)::int FROM carillon.jobs j
        WHERE j.tenant = c.tenant AND j.state IN ('active', 'paused') AND j.definition -> 'exclude' <> '[]'
          AND j.definition -> 'exclude' ? c.name) AS jobs
FROM carillon.calendars c
WHERE c.tenant = :tenant AND (:name IS NULL OR c.name = :name)
ORDER BY c.name
