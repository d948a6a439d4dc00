-- Rotations of one tenant come one after the other: each counts what the one before has left. Lock: the tenant's row, which
-- jobs and runs that refer to it do not wait for. Nothing else is locked before it. Index: the primary key.
-- @param tenant int
SELECT tenant FROM carillon.tenants WHERE tenant = :tenant FOR NO KEY UPDATE
