-- Keeps the signs for everybody. In the transaction of claim-sample.sql, which holds the one row.
-- @param sample jsonb
UPDATE carillon.fleet_sample SET taken_at = carillon.now_ms(), sample = :sample
RETURNING taken_at
