-- The latest sample, how old it is, and whether it is time for another: one that took long is not taken often, and one from the
-- future, before the clock was set back, counts for nothing. Plain read of one row.
-- @param every_ms bigint
-- @param factor bigint
SELECT sample, taken_at, greatest(carillon.now_ms() - taken_at, 0) AS age_ms,
       taken_at > carillon.now_ms() OR carillon.now_ms() - taken_at >= greatest(:every_ms, took_ms * :factor) AS due
FROM carillon.fleet_sample
