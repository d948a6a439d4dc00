-- Notes who changed what, in the transaction of the change: both or neither. Insert of one row, which is never altered.
-- @param tenant int
-- @param actor text
-- @param actor_key uuid
-- @param action text
-- @param subject text
-- @param detail jsonb
-- @param request_id text
INSERT INTO carillon.audit_log (tenant, actor, actor_key, action, subject, detail, request_id)
VALUES (:tenant, :actor, :actor_key, :action, :subject, :detail, :request_id)
