-- The secrets of a tenant that still sign, the current one first. The secret itself stays in the database: its last characters
-- are enough to tell which one a receiver has. Plain read. Index: the primary key (tenant, id).
-- @param tenant int
SELECT id, right(encode(secret, 'base64'), 5) AS ending, created_at, retires_at
FROM carillon.signing_secrets
WHERE tenant = :tenant AND (retires_at IS NULL OR retires_at > carillon.now_ms())
ORDER BY retires_at IS NOT NULL, created_at DESC, id DESC
