-- The hosts whose calls every worker reports: something failed there of late, or the breaker is not closed. Plain read of a
-- table with few rows.
SELECT tenant, host FROM carillon.targets WHERE watched_at IS NOT NULL
