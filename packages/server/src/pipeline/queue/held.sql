-- Every run leased to this worker, with its token. Asked for when a lease call's answer was lost: what it leased
-- without our knowing must not stay ours for ever. Plain read; scans the queue, and is rare.
-- @plan each-time
-- @param holder bigint
SELECT due, job, origin, seq, partition, token FROM carillon.queue WHERE holder = :holder
