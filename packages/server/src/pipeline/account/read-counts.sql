-- What was counted for a tenant since an instant, by outcome and lateness. Plain read. Index: run_counts' primary key.
-- @param tenant int
-- @param minute_ms bigint
-- @param hour_ms bigint
SELECT c.outcome, c.lag, last.minute, sum(c.runs)::bigint AS runs, sum(c.first)::bigint AS first, max(c.max_lag) AS max_lag
FROM carillon.run_counts c
CROSS JOIN carillon.counted
CROSS JOIN LATERAL (SELECT c.at > counted.through - :minute_ms AS minute) last
WHERE c.tenant = :tenant AND c.at > counted.through - :hour_ms
GROUP BY 1, 2, 3
