-- Changes a channel as a whole: what stays was read before, and is written as it was. Lock: the row. Index: primary key.
-- @param tenant int
-- @param channel uuid
-- @param name text
-- @param settings jsonb
-- @param min_severity text
UPDATE carillon.alert_channels c SET name = :name, settings = :settings, min_severity = :min_severity
WHERE c.tenant = :tenant AND c.channel = :channel
RETURNING c.channel
