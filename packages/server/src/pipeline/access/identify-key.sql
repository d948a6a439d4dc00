-- Whose key has this hash, if it opens now: neither revoked nor expired; or the secret before the last rotation, while that
-- still opens. Plain read. Index: api_keys_hash_key, api_keys_previous_hash_key.
-- @param hash bytea
SELECT k.key_id, k.tenant, t.name AS tenant_name, k.name, k.role, k.expires_at
FROM carillon.api_keys k
JOIN carillon.tenants t ON t.tenant = k.tenant
WHERE (k.hash = :hash OR (k.previous_hash = :hash AND k.previous_expires_at > carillon.now_ms()))
  AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > carillon.now_ms())
