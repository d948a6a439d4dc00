-- A page of the active jobs of a tenant, by key, with what their ticks are computed from: all, or every n-th of very many.
-- Plain read, for a forecast: nothing depends on it. Index: jobs_by_tenant (tenant, job), primary keys.
-- @whole definition
-- @param tenant int
-- @param after bigint
-- @param every int
-- @param kind text
-- @param target text
-- @param tags text[]
-- @param most int
SELECT j.job, j.id AS uuid, j.name, j.one_off, t.start_at, j.definition - 'payload' - 'target' AS definition
FROM carillon.jobs j
JOIN carillon.timers t ON t.job = j.job AND t.partition = j.partition
WHERE j.tenant = :tenant AND j.job > :after AND j.state = 'active' AND t.start_at IS NOT NULL
  AND (:every = 1 OR j.job % :every = 0)
  AND (:tags IS NULL OR j.tags ?& :tags)
  AND (:kind IS NULL OR j.route IN (SELECT r.route FROM carillon.routes r
                                    WHERE r.tenant = :tenant AND r.kind = :kind
                                      AND (:target IS NULL OR r.name = :target)))
ORDER BY j.job
LIMIT :most
