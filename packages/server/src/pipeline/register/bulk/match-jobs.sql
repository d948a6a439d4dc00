-- The jobs of a tenant that a filter takes, by key, between two keys; with `counted`, how many these are on every row. The
-- one place that says what a filter means: what is previewed, counted and changed are the same jobs. The count goes through
-- all that match, and is asked for once; a page stops when it is full. Plain read: what is done looks again under lock.
-- Index: jobs_by_state, jobs.id, jobs_by_route, by the filter.
-- @plan each-time
-- @param tenant int
-- @param after_job bigint
-- @param through_job bigint
-- @param states text[]
-- @param pattern text
-- @param kind text
-- @param target_name text
-- @param tags text[]
-- @param managed_by text
-- @param uuids uuid[]
-- @param counted boolean
-- @param most int
WITH matching AS MATERIALIZED (
  SELECT j.job, j.id, j.name
  FROM carillon.jobs j
  WHERE j.tenant = :tenant AND j.job > :after_job AND j.job <= :through_job
    AND j.state IN ('active', 'paused', 'ended', 'cancelled') AND j.state = ANY (:states)
    AND (:pattern IS NULL OR j.name ILIKE :pattern OR j.description ILIKE :pattern)
    AND (:tags IS NULL OR j.tags ?& :tags)
    AND (:managed_by IS NULL OR j.managed_by = :managed_by)
    AND (:uuids IS NULL OR j.id = ANY (:uuids))
    AND (:kind IS NULL OR j.route IN (
      SELECT r.route FROM carillon.routes r
      WHERE r.tenant = :tenant AND r.kind = :kind AND (:target_name IS NULL OR r.name = :target_name)))
  ORDER BY j.job
  -- In here, where the planner sees it: it takes the whole of a materialized part to be wanted.
  LIMIT CASE WHEN NOT :counted THEN :most END
)
SELECT job, id::text AS uuid, name, CASE WHEN :counted THEN (SELECT count(*)::int FROM matching) END AS matched
FROM matching
ORDER BY job
LIMIT :most
