-- What was counted for a tenant in the last while, in pieces, by outcome and lateness. Plain read of at most a few thousand
-- rows. Index: run_counts' primary key.
-- @param tenant int
-- @param span_ms bigint
-- @param step_ms bigint
SELECT c.at / :step_ms * :step_ms AS at, c.outcome, c.lag, sum(c.runs)::bigint AS runs, sum(c.first)::bigint AS first,
       max(c.max_lag) AS max_lag
FROM carillon.run_counts c
CROSS JOIN carillon.counted
WHERE c.tenant = :tenant AND c.at > counted.through - :span_ms
GROUP BY 1, 2, 3
ORDER BY 1
