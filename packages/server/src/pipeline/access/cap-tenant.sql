-- Sets how many runs of a tenant workers may hold at once; NULL takes the cap away. The first time it waits for leases and
-- closes in progress, and they for it: the lock of the function, with its own short time.
-- @param tenant int
-- @param most int
SELECT carillon.cap_tenant(:tenant, :most) IS NULL AS done
