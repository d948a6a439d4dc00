-- The next jobs of a tenant, newest first: up to `look` of them are looked at, and those that the filter takes are answered
-- by key, `most` at most. `looked` and `reached` say how far the look went. One ordered scan for each state asked for, cut off
-- at the same number, merged.
-- Plain read. Index: jobs_by_state (tenant, state, job), backwards.
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
-- @param before_job bigint
-- @param look int
-- @param most int
WITH near AS MATERIALIZED (
  SELECT merged.*
  FROM (
    (SELECT job, id, name, description, tags, managed_by, route FROM carillon.jobs
     WHERE tenant = :tenant AND state = 'active' AND job < :before_job AND 'active' = ANY (:states)
     ORDER BY job DESC LIMIT :look)
    UNION ALL
    (SELECT job, id, name, description, tags, managed_by, route FROM carillon.jobs
     WHERE tenant = :tenant AND state = 'paused' AND job < :before_job AND 'paused' = ANY (:states)
     ORDER BY job DESC LIMIT :look)
    UNION ALL
    (SELECT job, id, name, description, tags, managed_by, route FROM carillon.jobs
     WHERE tenant = :tenant AND state = 'ended' AND job < :before_job AND 'ended' = ANY (:states)
     ORDER BY job DESC LIMIT :look)
    UNION ALL
    (SELECT job, id, name, description, tags, managed_by, route FROM carillon.jobs
     WHERE tenant = :tenant AND state = 'cancelled' AND job < :before_job AND 'cancelled' = ANY (:states)
     ORDER BY job DESC LIMIT :look)
  ) merged
  ORDER BY merged.job DESC
  LIMIT :look
)
SELECT ARRAY(
         SELECT j.job
         FROM near j
         WHERE (:pattern IS NULL OR j.name ILIKE :pattern OR j.description ILIKE :pattern
                OR j.id BETWEEN :id_from AND :id_to)
           AND (:tags IS NULL OR j.tags ?& :tags)
           AND (:managed_by IS NULL OR j.managed_by = :managed_by)
           AND (:routes IS NULL OR j.route = ANY (:routes))
           AND (:kind IS NULL OR (SELECT r.kind FROM carillon.routes r WHERE r.route = j.route) = :kind)
         ORDER BY j.job DESC
         LIMIT :most
       ) AS jobs,
       (SELECT count(*)::int FROM near) AS looked,
       (SELECT min(job) FROM near) AS reached
