-- What was done to one subject, the latest first, as far as the filters say: as list-audit.sql, of the entries of that subject alone.
-- A job may have been registered together with others (`jobs`): its id lies between the first and the last of that row, and they were
-- made within `job_until`. A row that lies so and does not have it has no number for it, and drops out.
-- Plain read. Index: audit_log_by_subject, audit_log_together.
-- @param tenant int
-- @param actor text
-- @param actor_key uuid
-- @param action text
-- @param subject text
-- @param job uuid
-- @param job_until uuid
-- @param after bigint
-- @param before bigint
-- @param before_entry bigint
-- @param walk int
-- @param most int
WITH walked AS MATERIALIZED (
  SELECT * FROM (
    (
      SELECT entry, at, actor, actor_key, action, subject, detail, request_id, NULL::uuid AS job, NULL::text AS name
      FROM carillon.audit_log
      WHERE tenant = :tenant AND subject = :subject AND jobs IS NULL AND entry < :before_entry
      ORDER BY entry DESC
      LIMIT :walk
    )
    UNION ALL
    SELECT l.entry + array_position(l.jobs, :job) - 1, l.at, l.actor, l.actor_key, l.action, l.subject, l.detail,
           coalesce(l.requests[array_position(l.jobs, :job)], l.request_id), :job, l.names[array_position(l.jobs, :job)]
    FROM carillon.audit_log l
    WHERE l.tenant = :tenant AND l.jobs IS NOT NULL AND l.last_job >= :job AND l.last_job <= :job_until
      AND l.first_job <= :job
  ) each
  WHERE entry < :before_entry
  ORDER BY entry DESC
  LIMIT :walk
)
SELECT way.walked, way.reached, way.reached_at, found.*
FROM (SELECT count(*)::int AS walked, min(entry) AS reached, min(at) AS reached_at FROM walked) way
LEFT JOIN LATERAL (
  SELECT * FROM walked
  WHERE (:actor IS NULL OR actor = :actor) AND (:actor_key IS NULL OR actor_key = :actor_key)
    AND (:action IS NULL OR action = :action)
    AND (:after IS NULL OR at >= :after) AND (:before IS NULL OR at < :before)
  ORDER BY entry DESC
  LIMIT :most
) found ON true
ORDER BY found.entry DESC
