-- Makes a calendar, or gives it another content. Two that make one name at once: the second replaces the first.
-- Index: calendars (tenant, name).
-- @param tenant int
-- @param name text
-- @param definition text
INSERT INTO carillon.calendars AS c (tenant, name, definition)
VALUES (:tenant, :name, :definition::jsonb)
ON CONFLICT (tenant, name) DO UPDATE
SET definition = excluded.definition, version = c.version + 1, updated_at = carillon.now_ms()
RETURNING c.version, c.updated_at
