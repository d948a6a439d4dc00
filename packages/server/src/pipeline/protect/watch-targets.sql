-- Makes rows for hosts that failed and have none: from now on every worker reports what comes of its calls there.
-- Lock: the new rows, by key.
-- @param tenants int[]
-- @param hosts text[]
INSERT INTO carillon.targets (tenant, host)
SELECT tenant, host FROM unnest(:tenants, :hosts) AS failed (tenant, host)
ORDER BY tenant, host
ON CONFLICT DO NOTHING
