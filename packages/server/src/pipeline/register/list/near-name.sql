-- The next jobs of a tenant by name: up to `look` of them are looked at, and those that the filter takes are answered by
-- key, `most` at most. `looked` and `reached` say how far the look went. Live jobs and past ones are two ordered scans,
-- merged; the state is a filter here, so that a rare one cannot make the look long. Plain read.
-- Index: jobs_live_name (tenant, name), jobs_past_name (tenant, name, job).
-- @plan each-time
-- @param tenant int
-- @param states text[]
-- @param pattern text
-- @param id_from uuid
-- @param id_to uuid
-- @param tags text[]
-- @param managed_by text
-- @param kind text
-- @param routes int[]
-- @param after_name text
-- @param after_job bigint
-- @param look int
-- @param most int
WITH near AS MATERIALIZED (
  SELECT merged.*
  FROM (
    (SELECT job, id, name, state, description, tags, managed_by, route FROM carillon.jobs
     WHERE tenant = :tenant AND state IN ('active', 'paused') AND name >= :after_name
       AND (name, job) > (:after_name, :after_job)
     ORDER BY name, job LIMIT :look)
    UNION ALL
    (SELECT job, id, name, state, description, tags, managed_by, route FROM carillon.jobs
     WHERE tenant = :tenant AND state IN ('ended', 'cancelled') AND name >= :after_name
       AND (name, job) > (:after_name, :after_job)
     ORDER BY name, job LIMIT :look)
  ) merged
  ORDER BY merged.name, merged.job
  LIMIT :look
),
taken AS MATERIALIZED (
  SELECT j.job, j.name
  FROM near j
  WHERE j.state = ANY (:states)
    AND (:pattern IS NULL OR j.name ILIKE :pattern OR j.description ILIKE :pattern
         OR j.id BETWEEN :id_from AND :id_to)
    AND (:tags IS NULL OR j.tags ?& :tags)
    AND (:managed_by IS NULL OR j.managed_by = :managed_by)
    AND (:routes IS NULL OR j.route = ANY (:routes))
    AND (:kind IS NULL OR (SELECT r.kind FROM carillon.routes r WHERE r.route = j.route) = :kind)
  ORDER BY j.name, j.job
  LIMIT :most
)
SELECT ARRAY(SELECT job FROM taken ORDER BY name, job) AS jobs,
       ARRAY(SELECT name FROM taken ORDER BY name, job) AS names,
       (SELECT count(*)::int FROM near) AS looked,
       last.name AS reached_name, last.job AS reached_job
FROM (SELECT) one
LEFT JOIN LATERAL (SELECT name, job FROM near ORDER BY name DESC, job DESC LIMIT 1) last ON true
