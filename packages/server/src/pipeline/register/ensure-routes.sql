-- The numbers of routes, made if new. The update changes nothing, but locks and returns the row that a concurrent insert of
-- the same route has just made. Ordered, so that two batches cannot deadlock. Cached by the caller: one row per host or
-- task, whatever the number of jobs. Index: routes (tenant, kind, name, priority).
-- @param tenant int
-- @param kinds text[]
-- @param names text[]
-- @param priorities smallint[]
INSERT INTO carillon.routes AS r (tenant, kind, name, priority)
SELECT DISTINCT :tenant, kind, name, priority
FROM unnest(:kinds, :names, :priorities) AS wanted (kind, name, priority)
ORDER BY kind, name, priority
ON CONFLICT (tenant, kind, name, priority) DO UPDATE SET name = excluded.name
RETURNING r.route, r.kind, r.name, r.priority
