-- The tenants by name; one of them where its name is given. Plain read of a small table. Index: tenants_name_key.
-- @param name text
-- @param after text
-- @param most int
SELECT t.tenant, t.name, t.max_jobs, t.create_per_second, t.min_interval_seconds, t.weight, s.capacity AS max_concurrent,
       t.allow_commands, t.created_at
FROM carillon.tenants t
LEFT JOIN carillon.tenant_slots s ON s.tenant = t.tenant
WHERE (:name IS NULL OR t.name = :name) AND t.name > :after
ORDER BY t.name
LIMIT :most
