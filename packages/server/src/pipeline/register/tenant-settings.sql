-- What a tenant has of its own; NULL where the server's setting applies. Plain read; primary key.
-- @param tenant int
SELECT min_interval_seconds, allow_commands FROM carillon.tenants WHERE tenant = :tenant
