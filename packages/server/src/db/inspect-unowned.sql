-- Partitions that no live process holds: what take-partitions.sql would find free. Plain read of 256 rows.
SELECT p.partition
FROM carillon.partitions p
LEFT JOIN carillon.incarnations i ON i.incarnation = p.owner
WHERE p.owner IS NULL OR p.expires_at <= carillon.now_ms() OR i.state IS DISTINCT FROM 'alive'
ORDER BY p.partition
