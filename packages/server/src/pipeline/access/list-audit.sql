-- What was changed in a tenant, the latest first, as far as the filters say. Plain read; a page is bounded, and so is what is
-- read for it where a subject is given. Index: audit_log_pkey, audit_log_by_subject.
-- @param tenant int
-- @param actor text
-- @param actor_key uuid
-- @param action text
-- @param subject text
-- @param after bigint
-- @param before bigint
-- @param before_entry bigint
-- @param most int
SELECT entry, at, actor, actor_key, action, subject, detail, request_id
FROM carillon.audit_log
WHERE tenant = :tenant AND entry < :before_entry
  AND (:actor IS NULL OR actor = :actor) AND (:actor_key IS NULL OR actor_key = :actor_key)
  AND (:action IS NULL OR action = :action) AND (:subject IS NULL OR subject = :subject)
  AND (:after IS NULL OR at >= :after) AND (:before IS NULL OR at < :before)
ORDER BY entry DESC
LIMIT :most
