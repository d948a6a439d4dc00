-- Takes the signs for one transaction, FOR UPDATE SKIP LOCKED: of several processes that find them old, one looks. Nobody gets them that
-- looked at another one. Lock: the one row.
-- @param taken_at bigint
SELECT taken_at FROM carillon.fleet_sample WHERE taken_at = :taken_at FOR UPDATE SKIP LOCKED
