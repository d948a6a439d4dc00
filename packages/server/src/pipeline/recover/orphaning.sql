-- Processes that ended and whose runs were not all taken back yet: those of the fleet first, which held more. Plain read of a
-- small table.
SELECT incarnation, tenant IS NOT NULL AS remote FROM carillon.incarnations
WHERE state <> 'alive' AND rescued_at IS NULL AND 'worker' = ANY (roles)
ORDER BY tenant IS NOT NULL, incarnation
