-- One run by its identity: in flight from the queue, otherwise its final row of the latest round in the ledger. The words
-- for what it waits for are those of runs-of-job.sql. Plain read of one snapshot, so a run is never in neither.
-- Index: queue's primary key, ledger_history (job, due) in each ledger partition, jobs' primary key.
-- @plan each-time
-- @param tenant int
-- @param due bigint
-- @param job bigint
-- @param origin smallint
-- @param seq int
-- @param partition smallint
-- @param parked_until bigint
WITH clock AS MATERIALIZED (
  SELECT carillon.now_ms() AS now
),
live AS MATERIALIZED (
  SELECT q.due, q.origin, q.seq, q.partition, q.round,
         CASE WHEN q.holder IS NOT NULL AND q.available_at <= clock.now THEN 'running' ELSE 'pending' END AS status,
         q.attempt, q.max_attempts, q.last_error AS error,
         CASE
           WHEN q.cancel_requested THEN 'cancel_requested'
           WHEN q.holder IS NOT NULL AND q.available_at <= clock.now THEN NULL
           WHEN q.available_at >= :parked_until THEN 'job_paused'
           WHEN q.attempt > 1 AND q.available_at > clock.now THEN 'waiting_for_retry'
           WHEN q.available_at > clock.now THEN 'staged'
           WHEN r.kind = 'task' AND NOT EXISTS (
             SELECT FROM carillon.incarnations i
             WHERE i.state = 'alive' AND 'worker' = ANY (i.roles) AND r.name = ANY (i.tasks)
               AND (i.tenant IS NULL OR i.tenant = r.tenant)
           ) THEN 'no_worker_for_task'
           WHEN r.kind = 'command' AND NOT EXISTS (
             SELECT FROM carillon.incarnations i
             WHERE i.state = 'alive' AND 'worker' = ANY (i.roles) AND i.commands
           ) THEN 'no_worker_for_commands'
           WHEN q.holder IS NULL AND carillon.target_holds_back(t, clock.now) IS NOT NULL
             THEN carillon.target_holds_back(t, clock.now)
           WHEN q.places IS NOT NULL AND coalesce(q.slot, -1) < 0 THEN 'waiting_for_overlap_place'
           ELSE 'waiting_for_worker'
         END AS reason,
         NULL::jsonb AS result, q.catch_up, q.version, q.token, q.holder AS worker,
         nullif(q.available_at, :parked_until) AS available_at,
         CASE WHEN q.holder IS NOT NULL AND q.available_at <= clock.now
              THEN greatest(q.available_at, q.leased_at) END AS started_at,
         NULL::bigint AS finished_at, NULL::bigint AS due_to, 1 AS ticks
  FROM carillon.queue q
  JOIN carillon.routes r ON r.route = q.route
  LEFT JOIN carillon.targets t ON r.kind = 'http' AND t.tenant = r.tenant AND t.host = r.name
  CROSS JOIN clock
  WHERE q.due = :due AND q.job = :job AND q.origin = :origin AND q.seq = :seq AND q.partition = :partition
    AND q.tenant = :tenant
),
ended AS MATERIALIZED (
  SELECT l.due, l.origin, l.seq, l.partition, l.round, l.outcome::text AS status, l.attempt, l.max_attempts, l.error,
         l.reason, l.result, l.catch_up, l.version, l.token, l.worker, l.available_at, l.started_at, l.finished_at,
         l.due_to, l.ticks
  FROM carillon.ledger l
  WHERE l.job = :job AND l.due = :due AND l.origin = :origin AND l.seq = :seq AND l.partition = :partition
    AND l.tenant = :tenant AND l.final AND NOT EXISTS (SELECT FROM live)
  ORDER BY l.round DESC
  LIMIT 1
)
SELECT found.*, j.id::text AS uuid
FROM (SELECT * FROM live UNION ALL SELECT * FROM ended) found
JOIN carillon.jobs j ON j.job = :job
