-- Operations of a tenant, the latest first and before one of them, or a single one. Plain read.
-- Index: operations_by_tenant, operations' id.
-- @param tenant int
-- @param uuid uuid
-- @param before bigint
-- @param most int
SELECT operation, id::text AS uuid, action, filter, state, total, done, failed, errors, created_at, finished_at
FROM carillon.operations
WHERE tenant = :tenant AND (:uuid IS NULL OR id = :uuid) AND operation < :before
ORDER BY operation DESC
LIMIT :most
