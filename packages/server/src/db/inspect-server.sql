-- What a Postgres says about itself: its version, whether a commit survives a power cut, and its clock.
-- Plain read of settings, which needs no schema of ours. clock_timestamp(), not now(): the caller compares it with the
-- moment of the call.
SELECT current_setting('server_version') AS version,
       current_setting('server_version_num')::int AS version_number,
       current_setting('fsync') AS fsync,
       current_setting('synchronous_commit') AS synchronous_commit,
       current_setting('full_page_writes') AS full_page_writes,
       pg_is_in_recovery() AS standby,
       floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now
