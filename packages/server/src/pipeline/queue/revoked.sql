-- Runs of mine that somebody asked to cancel. Plain read; index queue_cancel, which holds only such rows.
-- @plan each-time
-- @param holder bigint
SELECT due, job, origin, seq, partition, token FROM carillon.queue WHERE holder = :holder AND cancel_requested
