-- The keys of a tenant, the newest first; one of them where an id is given. Revoked ones too. Plain read.
-- Index: api_keys_by_tenant; ids are made in the order of time.
-- @param tenant int
-- @param id uuid
-- @param before uuid
-- @param most int
SELECT key_id, name, role, created_at, expires_at, revoked_at, rotated_at, previous_expires_at, carillon.now_ms() AS now
FROM carillon.api_keys
WHERE tenant = :tenant AND (:id IS NULL OR key_id = :id) AND (:before IS NULL OR key_id < :before)
ORDER BY key_id DESC
LIMIT :most
