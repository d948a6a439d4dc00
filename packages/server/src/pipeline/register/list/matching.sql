-- The jobs of a tenant that a filter takes, in the order asked for and after a position, by key: where they are few and far
-- between, and near-newest.sql or near-name.sql did not meet enough of them. Found by what is rare about them, then sorted:
-- the order of the keys is disguised, so that the plan cannot go through all jobs in the hope to meet some soon. So is the
-- tenant where routes are given, which are the tenant's own, or so much of an id that few have it (`rare_id`): else the plan
-- might go through all jobs of the tenant.
-- Plain read. Index: jobs_name_search, jobs_text_search, jobs.id, jobs_by_tag, jobs_by_owner, jobs_by_route or jobs_by_state.
-- @plan each-time
-- @param tenant int
-- @param states text[]
-- @param pattern text
-- @param id_from uuid
-- @param id_to uuid
-- @param rare_id boolean
-- @param tags text[]
-- @param managed_by text
-- @param kind text
-- @param routes int[]
-- @param by_name boolean
-- @param after_name text
-- @param after_job bigint
-- @param most int
SELECT j.job, j.name
FROM carillon.jobs j
WHERE j.tenant + 0 = :tenant AND (:routes IS NOT NULL OR :rare_id OR j.tenant = :tenant)
  AND j.state = ANY (:states) AND j.state IN ('active', 'paused', 'ended', 'cancelled')
  AND (:pattern IS NULL OR j.name ILIKE :pattern OR (j.description IS NOT NULL AND j.description ILIKE :pattern)
       OR j.id BETWEEN :id_from AND :id_to)
  AND (:tags IS NULL OR (j.tags ?& :tags AND j.tags <> '[]'))
  AND (:managed_by IS NULL OR j.managed_by = :managed_by)
  AND (:routes IS NULL OR j.route = ANY (:routes))
  AND (:kind IS NULL OR (SELECT r.kind FROM carillon.routes r WHERE r.route = j.route) = :kind)
  AND (:by_name OR j.job < :after_job)
  AND (NOT :by_name OR (j.name || '', j.job) > (:after_name, :after_job))
ORDER BY CASE WHEN :by_name THEN j.name || '' END, CASE WHEN :by_name THEN j.job + 0 ELSE -j.job END
LIMIT :most
