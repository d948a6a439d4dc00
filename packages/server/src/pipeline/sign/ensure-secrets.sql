-- Gives each of these tenants its first secret, where it has none. Safe among processes that start at once: whoever comes
-- second waits for the first to commit, then does nothing. A tenant that does not exist is passed over.
-- Index: signing_secrets_current (tenant). Locks: the rows it makes, in the order of tenants.
-- @param tenants int[]
-- @param ids uuid[]
-- @param secrets bytea[]
INSERT INTO carillon.signing_secrets (tenant, id, secret)
SELECT given.tenant, given.id, given.secret
FROM unnest(:tenants, :ids, :secrets) AS given (tenant, id, secret)
JOIN carillon.tenants t ON t.tenant = given.tenant
ORDER BY given.tenant
ON CONFLICT (tenant) WHERE retires_at IS NULL DO NOTHING
