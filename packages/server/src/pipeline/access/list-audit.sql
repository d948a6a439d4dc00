-- What was changed in a tenant, the latest first, as far as the filters say. Plain read; a page is bounded, and so is what is
-- gone through for it: `walk` entries. `reached` says how far that was. A row that stands for several jobs (`jobs`, with their `names` and `requests`) is an
-- entry for each, which follow each other from the number of the row on.
-- Index: audit_log_pkey.
-- @param tenant int
-- @param actor text
-- @param actor_key uuid
-- @param action text
-- @param after bigint
-- @param before bigint
-- @param before_entry bigint
-- @param walk int
-- @param most int
WITH walked AS MATERIALIZED (
  SELECT l.entry + coalesce(e.place - 1, 0) AS entry, l.at, l.actor, l.actor_key, l.action, l.subject, l.detail,
         coalesce(e.request, l.request_id) AS request_id, e.job, e.name
  FROM (
    SELECT * FROM carillon.audit_log
    WHERE tenant = :tenant AND entry < :before_entry
    ORDER BY entry DESC
    LIMIT :walk
  ) l
  LEFT JOIN LATERAL unnest(l.jobs, l.names, l.requests) WITH ORDINALITY AS e (job, name, request, place) ON true
  WHERE l.entry + coalesce(e.place - 1, 0) < :before_entry
  ORDER BY l.entry DESC, e.place DESC
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
