-- The processes of the fleet, without workers over HTTP: those alive, and those that ended a short while ago, with how many partitions each holds.
-- Plain read; incarnations and partitions are tiny.
-- @param ended_within_ms bigint
SELECT i.incarnation, i.host, i.pid, i.roles, i.tasks, i.state, i.code_version, i.started_at, i.ended_at, i.report,
       greatest(carillon.now_ms() - i.beat_at, 0) AS beat_age_ms,
       (SELECT count(*)::int FROM carillon.partitions p
        WHERE p.owner = i.incarnation AND p.expires_at > carillon.now_ms()) AS partitions,
       carillon.now_ms() AS now
FROM carillon.incarnations i
WHERE i.tenant IS NULL AND (i.state = 'alive' OR i.ended_at > carillon.now_ms() - :ended_within_ms)
ORDER BY (i.state = 'alive') DESC, i.started_at, i.incarnation
