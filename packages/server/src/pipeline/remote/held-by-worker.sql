-- What a worker over HTTP holds, for its heartbeat. Plain read; index queue_remote.
-- @plan each-time
-- @param holder bigint
SELECT due, job, origin, seq, partition, token, cancel_requested, carillon.now_ms() - leased_at AS held_ms
FROM carillon.queue
WHERE holder = :holder AND deadline IS NOT NULL
