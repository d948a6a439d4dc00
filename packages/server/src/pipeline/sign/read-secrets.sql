-- What to sign with, of several tenants: of each the current secret first, then those that retire, newest first. For signing
-- and for the one call that shows a secret; lists read list-secrets.sql. Plain read. Index: the primary key (tenant, id).
-- @param tenants int[]
SELECT tenant, id, secret, created_at, retires_at
FROM carillon.signing_secrets
WHERE tenant = ANY (:tenants) AND (retires_at IS NULL OR retires_at > carillon.now_ms())
ORDER BY tenant, retires_at IS NOT NULL, created_at DESC, id DESC
