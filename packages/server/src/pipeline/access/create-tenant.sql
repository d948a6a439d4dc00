-- Makes a tenant. The unique key of names refuses one that is taken.
-- @param name text
-- @param max_jobs int
-- @param create_per_second float8
-- @param min_interval_seconds int
-- @param weight int
-- @param allow_commands boolean
INSERT INTO carillon.tenants (name, max_jobs, create_per_second, min_interval_seconds, weight, allow_commands)
VALUES (:name, :max_jobs, :create_per_second, :min_interval_seconds, :weight, :allow_commands)
RETURNING tenant
