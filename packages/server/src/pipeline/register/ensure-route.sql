-- The number of a route, made if new. The update changes nothing, but locks and returns the row that a concurrent
-- insert of the same route has just made. Cached by the caller: one row per host or task, whatever the number of jobs.
-- @param tenant int
-- @param kind text
-- @param name text
-- @param priority smallint
INSERT INTO carillon.routes (tenant, kind, name, priority) VALUES (:tenant, :kind, :name, :priority)
ON CONFLICT (tenant, kind, name, priority) DO UPDATE SET name = excluded.name
RETURNING route
