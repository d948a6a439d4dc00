-- The ping that was noted at `now` did not get through. Lock: the one row.
-- @param was bigint
-- @param now bigint
UPDATE carillon.alert_watch SET pinged_at = :was WHERE pinged_at = :now RETURNING pinged_at
