-- Events of a tenant and of the fleet: those that go on first, then the latest. A NULL tenant asks for all. Plain read of
-- a cold table. Index: alerts_open or alerts_going_on for those that go on; all of them are read where others are asked for as well.
-- @plan each-time
-- @param tenant int
-- @param open_only boolean
-- @param most int
SELECT a.alert, a.tenant, a.kind, a.subject, a.detail, a.raised_at, a.resolved_at
FROM carillon.alerts a
WHERE (:tenant IS NULL OR a.tenant IS NULL OR a.tenant = :tenant) AND (NOT :open_only OR a.resolved_at IS NULL)
ORDER BY (a.resolved_at IS NULL) DESC, a.raised_at DESC, a.alert DESC
LIMIT :most
