-- Every live process, and whether its session still holds its advisory lock: one look at pg_locks for all of them.
-- The session's own lock is exclusive; peers that try it (disown.sql, declare-dead.sql) take it shared, and must not look like it.
-- Workers over HTTP are no peers. Plain read. After a restart of the server every lock is gone although nobody died, so its age is told too.
SELECT i.incarnation, i.host, i.pid, i.roles, i.tasks, i.beat, i.beat_at, i.session_lock,
       EXISTS (
         SELECT FROM pg_locks l
         WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted AND l.mode = 'ExclusiveLock'
           AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
           AND (l.classid::bigint << 32 | l.objid::bigint) = i.incarnation
       ) AS locked,
       carillon.now_ms() AS now,
       (extract(epoch FROM statement_timestamp() - pg_postmaster_start_time()) * 1000)::bigint AS server_age_ms
FROM carillon.incarnations i
WHERE i.state = 'alive' AND i.tenant IS NULL
ORDER BY i.incarnation
