-- The number of a route, made if new. The update changes nothing, but locks and returns the row that a concurrent
-- insert of the same route has just made. Cached by the caller: a handful of rows for millions of jobs.
-- @param tenant int
-- @param kind text
-- @param name text
INSERT INTO carillon.routes (tenant, kind, name) VALUES (:tenant, :kind, :name)
ON CONFLICT (tenant, kind, name) DO UPDATE SET name = excluded.name
RETURNING route
