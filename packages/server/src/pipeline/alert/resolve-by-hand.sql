-- A person says that an alert is over; channels hear of it at once. One of the fleet is closed by its own people only (`fleet`). Lock: the row.
-- Index: alerts' primary key.
-- @param tenant int
-- @param alert bigint
-- @param fleet boolean
-- @param by text
UPDATE carillon.alerts a
SET resolved_at = carillon.now_ms(), resolved_by = :by, route_at = carillon.now_ms()
WHERE a.alert = :alert AND a.resolved_at IS NULL AND (a.tenant = :tenant OR (a.tenant IS NULL AND :fleet))
RETURNING a.alert, a.kind
