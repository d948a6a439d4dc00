-- What was changed in a tenant, the latest first, as far as the filters say. Plain read; a page is bounded, and so is what is
-- gone through for it: `walk` entries, which are those of one subject where one is given. `reached` says how far that was.
-- Index: audit_log_pkey, audit_log_by_subject.
-- @param tenant int
-- @param actor text
-- @param actor_key uuid
-- @param action text
-- @param subject text
-- @param after bigint
-- @param before bigint
-- @param before_entry bigint
-- @param walk int
-- @param most int
WITH walked AS MATERIALIZED (
  SELECT entry, at, actor, actor_key, action, subject, detail, request_id
  FROM carillon.audit_log
  WHERE tenant = :tenant AND entry < :before_entry AND (:subject IS NULL OR subject = :subject)
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
