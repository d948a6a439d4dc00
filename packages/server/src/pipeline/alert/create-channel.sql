-- Makes a channel, unless its name is taken or the tenant has too many. Lock: the new row.
-- @param channel uuid
-- @param tenant int
-- @param name text
-- @param type text
-- @param settings jsonb
-- @param min_severity text
-- @param most int
INSERT INTO carillon.alert_channels (channel, tenant, name, type, settings, min_severity)
SELECT :channel, :tenant, :name, :type, :settings, :min_severity
WHERE (SELECT count(*) FROM carillon.alert_channels c WHERE c.tenant = :tenant) < :most
RETURNING channel
