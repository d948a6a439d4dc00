-- Deletes a channel, with what it was to be sent, and takes it out of the rules that name it. Lock: the rows. Index: primary keys,
-- alert_notifications_of_channel, alert_rules_once.
-- @param tenant int
-- @param channel uuid
WITH named AS (
  UPDATE carillon.alert_rules r SET channels = array_remove(r.channels, :channel)
  WHERE r.tenant = :tenant AND :channel = ANY (r.channels)
  RETURNING r.rule
)
DELETE FROM carillon.alert_channels WHERE tenant = :tenant AND channel = :channel RETURNING channel
