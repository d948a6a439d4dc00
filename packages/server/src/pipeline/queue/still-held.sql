-- Of the runs named, those whose lease is still this worker's and that nobody asked to cancel: asked before a start
-- that comes after a pause. Plain read; primary key.
-- @plan each-time
-- @param holder bigint
-- @param dues bigint[]
-- @param jobs bigint[]
-- @param origins smallint[]
-- @param seqs int[]
-- @param partitions smallint[]
-- @param tokens bigint[]
SELECT q.token
FROM unnest(:dues, :jobs, :origins, :seqs, :partitions, :tokens) AS r (due, job, origin, seq, partition, token)
JOIN carillon.queue q USING (due, job, origin, seq, partition, token)
WHERE q.holder = :holder AND NOT q.cancel_requested
