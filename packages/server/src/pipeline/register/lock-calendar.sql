-- Locks a calendar, so that no job is computed from it meanwhile (share-calendars.sql) and no other change of it comes in
-- between. Before the timers in the order of locks. Index: calendars (tenant, name).
-- @param tenant int
-- @param name text
SELECT version, definition FROM carillon.calendars WHERE tenant = :tenant AND name = :name FOR UPDATE
