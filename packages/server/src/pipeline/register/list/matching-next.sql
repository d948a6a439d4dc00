-- The active jobs of a tenant that a filter takes, by start, partition and key after a position: where near-next.sql did not
-- meet enough of them among the next starts. Found by what is rare about them, or all of a small tenant, then sorted.
-- The tenant is disguised as there. Plain read. Index: as matching.sql, timers' primary key.
-- @plan each-time
-- @param tenant int
-- @param pattern text
-- @param id_from uuid
-- @param id_to uuid
-- @param rare_id boolean
-- @param tags text[]
-- @param managed_by text
-- @param kind text
-- @param routes int[]
-- @param after_start bigint
-- @param after_partition smallint
-- @param after_job bigint
-- @param most int
WITH found AS MATERIALIZED (
  SELECT j.job, j.partition
  FROM carillon.jobs j
  WHERE j.tenant + 0 = :tenant AND (:routes IS NOT NULL OR :rare_id OR j.tenant = :tenant) AND j.state = 'active'
    AND (:pattern IS NULL OR j.name ILIKE :pattern OR (j.description IS NOT NULL AND j.description ILIKE :pattern)
         OR j.id BETWEEN :id_from AND :id_to)
    AND (:tags IS NULL OR (j.tags ?& :tags AND j.tags <> '[]'))
    AND (:managed_by IS NULL OR j.managed_by = :managed_by)
    AND (:routes IS NULL OR j.route = ANY (:routes))
    AND (:kind IS NULL OR (SELECT r.kind FROM carillon.routes r WHERE r.route = j.route) = :kind)
)
SELECT found.job, timer.start_at, found.partition
FROM found
CROSS JOIN LATERAL (
  SELECT t.start_at
  FROM carillon.timers t
  WHERE t.job = found.job AND t.partition = found.partition AND t.tenant = :tenant
    AND (t.start_at, t.partition, t.job) > (:after_start, :after_partition, :after_job)
  OFFSET 0
) timer
ORDER BY timer.start_at, found.partition, found.job
LIMIT :most
