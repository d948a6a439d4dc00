-- Keeps a sample for everybody. In the transaction of claim-sample.sql, which holds the one row.
-- @param took_ms bigint
-- @param sample jsonb
UPDATE carillon.fleet_sample SET taken_at = carillon.now_ms(), took_ms = :took_ms, sample = :sample
RETURNING taken_at
