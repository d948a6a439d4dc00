-- Has it decided anew whom to tell of the open alerts of a tenant: a rule, a silence or a channel has changed. Those of the fleet go with the
-- rules of the tenant `default` (`fleet`). Lock: the rows, by alert, so that two of these never wait for each other. Index: alerts_open holds
-- the open ones only.
-- @param tenant int
-- @param fleet boolean
WITH mine AS MATERIALIZED (
  SELECT a.alert FROM carillon.alerts a
  WHERE a.resolved_at IS NULL AND (a.tenant = :tenant OR (a.tenant IS NULL AND :fleet))
  ORDER BY a.alert
  FOR UPDATE
)
UPDATE carillon.alerts a
SET route_at = carillon.now_ms()
FROM mine
WHERE a.alert = mine.alert
RETURNING a.alert
