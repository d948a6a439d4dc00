-- Makes a key. No row: its end has passed already. The index api_keys_live_name refuses a name that a live key has.
-- @param id uuid
-- @param tenant int
-- @param name text
-- @param role text
-- @param hash bytea
-- @param expires_at bigint
INSERT INTO carillon.api_keys (key_id, tenant, name, role, hash, expires_at)
SELECT :id, :tenant, :name, :role, :hash, :expires_at
WHERE :expires_at IS NULL OR :expires_at > carillon.now_ms()
RETURNING key_id, name, role, created_at, expires_at, revoked_at, rotated_at, previous_expires_at, carillon.now_ms() AS now
