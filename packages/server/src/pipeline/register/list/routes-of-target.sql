-- The routes of a tenant to one host or task: one for each priority that was ever used. Index: routes' unique key.
-- @param tenant int
-- @param kind text
-- @param name text
SELECT route FROM carillon.routes WHERE tenant = :tenant AND kind = :kind AND name = :name
