-- Processes that ended and whose runs were not all taken back yet. Plain read of a tiny table.
SELECT incarnation, tenant IS NOT NULL AS remote FROM carillon.incarnations
WHERE state <> 'alive' AND rescued_at IS NULL AND 'worker' = ANY (roles)
ORDER BY incarnation
