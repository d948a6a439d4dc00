-- The runs of a tenant that are in flight, the latest tick first, continued below the identity where the page before ended.
-- The words for what one waits for are those of runs-of-job.sql. Goes through the queue, which has no order for this, when
-- a person looks: an index would be paid for by every lease. Plain read.
-- @plan each-time
-- @param tenant int
-- @param before_due bigint
-- @param before_job bigint
-- @param before_origin smallint
-- @param before_seq int
-- @param after bigint
-- @param status text
-- @param tags text[]
-- @param most int
-- @param parked_until bigint
WITH clock AS MATERIALIZED (
  SELECT carillon.now_ms() AS now
),
run AS MATERIALIZED (
  SELECT q.*, q.holder IS NOT NULL AND q.available_at <= clock.now AS running, clock.now
  FROM carillon.queue q CROSS JOIN clock
  WHERE q.tenant = :tenant AND q.due >= :after
    AND (q.due, q.job, q.origin, q.seq) < (:before_due, :before_job, :before_origin, :before_seq)
    AND (:status IS NULL OR (:status = 'running') = (q.holder IS NOT NULL AND q.available_at <= clock.now))
    AND (:tags IS NULL OR (SELECT tagged.tags ?& :tags FROM carillon.jobs tagged WHERE tagged.job = q.job))
  ORDER BY q.due DESC, q.job DESC, q.origin DESC, q.seq DESC
  LIMIT :most
)
SELECT q.job, q.due, q.origin, q.seq, q.partition, CASE WHEN q.running THEN 'running' ELSE 'pending' END AS status,
       q.attempt, q.max_attempts, q.last_error AS error,
       CASE
         WHEN q.cancel_requested THEN 'cancel_requested'
         WHEN q.running THEN NULL
         WHEN q.available_at >= :parked_until THEN 'job_paused'
         WHEN q.attempt > 1 AND q.available_at > q.now THEN 'waiting_for_retry'
         WHEN q.available_at > q.now THEN 'staged'
         WHEN r.kind = 'task' AND NOT EXISTS (
           SELECT FROM carillon.incarnations i
           WHERE i.state = 'alive' AND 'worker' = ANY (i.roles) AND r.name = ANY (i.tasks)
             AND (i.tenant IS NULL OR i.tenant = r.tenant)
         ) THEN 'no_worker_for_task'
         WHEN r.kind = 'command' AND NOT EXISTS (
           SELECT FROM carillon.incarnations i
           WHERE i.state = 'alive' AND 'worker' = ANY (i.roles) AND i.commands
         ) THEN 'no_worker_for_commands'
         WHEN q.holder IS NULL AND carillon.target_holds_back(t, q.now) IS NOT NULL
           THEN carillon.target_holds_back(t, q.now)
         WHEN q.places IS NOT NULL AND coalesce(q.slot, -1) < 0 THEN 'waiting_for_overlap_place'
         ELSE 'waiting_for_worker'
       END AS reason,
       NULL::jsonb AS result, q.catch_up, q.version, q.token, q.holder AS worker,
       nullif(q.available_at, :parked_until) AS available_at,
       CASE WHEN q.running THEN greatest(q.available_at, q.leased_at) END AS started_at,
       NULL::bigint AS finished_at, NULL::bigint AS due_to, 1 AS ticks, j.id::text AS uuid
FROM run q
JOIN carillon.routes r ON r.route = q.route
JOIN carillon.jobs j ON j.job = q.job
LEFT JOIN carillon.targets t ON r.kind = 'http' AND t.tenant = r.tenant AND t.host = r.name
ORDER BY q.due DESC, q.job DESC, q.origin DESC, q.seq DESC
