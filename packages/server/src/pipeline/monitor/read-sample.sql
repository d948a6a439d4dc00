-- The latest signs and counts, how old they are, and whether it is time for other signs: some from the future, before the clock was set
-- back, count for nothing. Plain read of one row.
-- @param every_ms bigint
SELECT sample, taken_at, greatest(carillon.now_ms() - taken_at, 0) AS age_ms,
       taken_at > carillon.now_ms() OR carillon.now_ms() - taken_at >= :every_ms AS due,
       counts, greatest(carillon.now_ms() - counted_at, 0) AS counts_age_ms
FROM carillon.fleet_sample
