-- One tick that is in the queue, and what it waits for: the same words as in a job's history, which reads them in
-- runs-of-job.sql. Plain read. Index: the queue's primary key, routes' and targets' primary keys.
-- @plan each-time
-- @param job bigint
-- @param due bigint
-- @param parked_until bigint
SELECT q.attempt, q.max_attempts, q.round, nullif(q.available_at, :parked_until) AS available_at, q.fired_at, q.leased_at, q.holder, q.catch_up, q.last_error,
       r.kind, r.name AS task, t.state AS breaker, t.since AS breaker_since, t.retry_at AS breaker_retry_at,
       t.rate_per_second AS target_rate, t.max_concurrent AS target_concurrent, t.last_error AS target_error,
       CASE
         WHEN q.cancel_requested THEN 'cancel_requested'
         WHEN q.available_at >= :parked_until THEN 'job_paused'
         WHEN q.holder IS NOT NULL AND q.available_at <= carillon.now_ms() THEN 'running'
         WHEN q.attempt > 1 AND q.available_at > carillon.now_ms() THEN 'waiting_for_retry'
         WHEN q.available_at > carillon.now_ms() THEN 'staged'
         WHEN r.kind = 'task' AND NOT EXISTS (
           SELECT FROM carillon.incarnations i
           WHERE i.state = 'alive' AND 'worker' = ANY (i.roles) AND r.name = ANY (i.tasks)
             AND (i.tenant IS NULL OR i.tenant = r.tenant)
         ) THEN 'no_worker_for_task'
         WHEN r.kind = 'command' AND NOT EXISTS (
           SELECT FROM carillon.incarnations i
           WHERE i.state = 'alive' AND 'worker' = ANY (i.roles) AND i.commands
         ) THEN 'no_worker_for_commands'
         WHEN q.holder IS NULL AND carillon.target_holds_back(t, carillon.now_ms()) IS NOT NULL
           THEN carillon.target_holds_back(t, carillon.now_ms())
         WHEN q.places IS NOT NULL AND (q.slot IS NULL OR q.slot = -1) THEN 'waiting_for_overlap_place'
         ELSE 'waiting_for_worker'
       END AS reason
FROM carillon.queue q
JOIN carillon.routes r ON r.route = q.route
LEFT JOIN carillon.targets t ON r.kind = 'http' AND t.tenant = r.tenant AND t.host = r.name
WHERE q.job = :job AND q.due = :due AND q.origin = 0
