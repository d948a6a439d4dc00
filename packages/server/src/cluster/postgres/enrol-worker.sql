-- A worker over HTTP begins its life, under a random id that was never used. It holds no session of the database: nobody
-- learns of its crash but by its silence.
-- @param incarnation bigint
-- @param tenant int
-- @param name text
-- @param tasks text[]
-- @param code_version text
INSERT INTO carillon.incarnations (incarnation, tenant, host, roles, tasks, code_version)
VALUES (:incarnation, :tenant, :name, '{worker}', :tasks, :code_version)
RETURNING incarnation
