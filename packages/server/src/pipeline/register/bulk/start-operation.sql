-- Asks for an action on many jobs. Jobs with a later key than the latest of now are not touched: they did not match when it
-- was asked for. Insert of one row; the latest key by jobs' primary key.
-- @param uuid uuid
-- @param tenant int
-- @param action text
-- @param filter jsonb
-- @param arguments jsonb
-- @param total int
-- @param through_job bigint
INSERT INTO carillon.operations (id, tenant, action, filter, arguments, total, through_job)
VALUES (:uuid, :tenant, :action, :filter, :arguments, :total, :through_job)
RETURNING operation
