-- Ends a silence. Lock: the row. Index: primary key.
-- @param tenant int
-- @param silence uuid
DELETE FROM carillon.alert_silences WHERE tenant = :tenant AND silence = :silence RETURNING silence
