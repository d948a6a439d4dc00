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
SELECT r.token
FROM unnest(:dues, :jobs, :origins, :seqs, :partitions, :tokens) AS r (due, job, origin, seq, partition, token)
CROSS JOIN LATERAL (
  SELECT FROM carillon.queue q
  WHERE q.job = r.job AND q.due = r.due AND q.origin = r.origin AND q.seq = r.seq AND q.partition = r.partition
    AND q.token = r.token AND q.holder = :holder AND NOT q.cancel_requested
  LIMIT 1
) held
