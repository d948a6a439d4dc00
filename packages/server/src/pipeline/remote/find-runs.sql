-- The runs that results speak of, as far as they are in flight, whoever holds them now; `held`: by this worker, under the
-- very token. Plain read: the close itself checks both again, under the lock. Index: primary key.
-- @plan each-time
-- @param tenant int
-- @param holder bigint
-- @param dues bigint[]
-- @param jobs bigint[]
-- @param origins smallint[]
-- @param seqs int[]
-- @param partitions smallint[]
-- @param tokens bigint[]
SELECT r.token AS asked_token, q.due, q.job, q.origin, q.seq, q.partition, q.tenant, q.version, q.epoch, q.attempt,
       q.max_attempts, q.round, q.fired_at, q.available_at, q.catch_up, q.leased_at, q.cancel_requested,
       carillon.now_ms() AS now,
       coalesce(q.holder = :holder AND q.token = r.token, false) AS held
FROM unnest(:dues, :jobs, :origins, :seqs, :partitions, :tokens) AS r (due, job, origin, seq, partition, token)
CROSS JOIN LATERAL (
  SELECT * FROM carillon.queue
  WHERE queue.job = r.job AND queue.due = r.due AND queue.origin = r.origin AND queue.seq = r.seq
    AND queue.partition = r.partition AND queue.tenant = :tenant
  LIMIT 1
) q
