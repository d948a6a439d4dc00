-- The calendars of some tenants, whole: schedules that name one need what is in it. Plain read of a cold table.
-- Index: calendars (tenant, name).
-- @param tenants int[]
SELECT tenant, name, definition FROM carillon.calendars WHERE tenant = ANY (:tenants)
