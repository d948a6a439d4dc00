-- A process enters the cluster under a random id. The primary key refuses an id that was ever used.
-- @param incarnation bigint
-- @param host text
-- @param pid int
-- @param roles text[]
-- @param tasks text[]
-- @param commands boolean
-- @param code_version text
INSERT INTO carillon.incarnations (incarnation, host, pid, roles, tasks, commands, code_version)
VALUES (:incarnation, :host, :pid, :roles, :tasks, :commands, :code_version)
RETURNING carillon.now_ms() AS now
