-- Deletes a calendar that no live job names: seen under lock-calendar.sql. Index: calendars (tenant, name).
-- @param tenant int
-- @param name text
DELETE FROM carillon.calendars WHERE tenant = :tenant AND name = :name RETURNING calendar
