-- Runs that workers over HTTP hold beyond their time. Plain read: what ends them checks holder and token again.
-- Index: queue_remote, which has only runs of such workers.
-- @plan each-time
-- @param grace_ms bigint
-- @param most int
SELECT q.due, q.job, q.origin, q.seq, q.partition, q.tenant, q.version, q.epoch, q.attempt, q.max_attempts, q.round,
       q.fired_at, q.available_at, q.token, q.holder, q.catch_up, q.leased_at, carillon.now_ms() AS now
FROM carillon.queue q
WHERE q.deadline IS NOT NULL AND q.holder IS NOT NULL AND q.deadline <= carillon.now_ms() - :grace_ms
ORDER BY q.deadline
LIMIT :most
