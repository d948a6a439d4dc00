-- Every process that nobody has declared dead, how long it has been silent by the database's clock, and how many
-- partitions it holds. Plain read; incarnations and partitions are tiny.
SELECT i.incarnation, i.host, i.pid, i.roles, i.tasks, i.code_version, i.started_at,
       greatest(carillon.now_ms() - i.beat_at, 0) AS silent_ms,
       (SELECT count(*)::int FROM carillon.partitions p
        WHERE p.owner = i.incarnation AND p.expires_at > carillon.now_ms()) AS partitions
FROM carillon.incarnations i
WHERE i.state = 'alive' AND i.tenant IS NULL
ORDER BY i.started_at, i.incarnation
