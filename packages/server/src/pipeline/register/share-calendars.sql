-- The calendars of a tenant, locked against change: a job that is computed from them now is not computed from what they
-- were. Before the timer in the order of locks, as a change of a calendar takes them.
-- Index: calendars (tenant, name).
-- @param tenant int
SELECT name, definition FROM carillon.calendars WHERE tenant = :tenant ORDER BY name FOR SHARE
