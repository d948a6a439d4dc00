-- Deletes a rule: the default of its kind holds again. Lock: the row. Index: primary key.
-- @param tenant int
-- @param rule uuid
DELETE FROM carillon.alert_rules WHERE tenant = :tenant AND rule = :rule RETURNING rule
