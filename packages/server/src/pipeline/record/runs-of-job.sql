-- The runs of one job, latest tick first: those in flight from the queue, those that ended from the ledger. Of a tick
-- that was re-driven the latest round counts, also for the status that is asked for. A page ends at the identity of its
-- last row. Plain read of one snapshot, so a run is never in neither.
-- Index: queue's primary key (job), ledger_history (job, due DESC), in each ledger partition.
-- @plan each-time
-- @param job bigint
-- @param before_due bigint
-- @param before_origin smallint
-- @param before_seq int
-- @param after bigint
-- @param status text
-- @param most int
-- @param parked_until bigint
WITH live AS MATERIALIZED (
  SELECT q.due, q.origin, q.seq, q.partition,
         CASE WHEN q.holder IS NOT NULL AND q.available_at <= carillon.now_ms() THEN 'running' ELSE 'pending' END AS status,
         q.attempt, q.max_attempts, q.last_error AS error,
         CASE
           WHEN q.cancel_requested THEN 'cancel_requested'
           WHEN q.holder IS NOT NULL AND q.available_at <= carillon.now_ms() THEN NULL
           WHEN q.available_at >= :parked_until THEN 'job_paused'
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
           WHEN q.places IS NOT NULL AND coalesce(q.slot, -1) < 0 THEN 'waiting_for_overlap_place'
           ELSE 'waiting_for_worker'
         END AS reason,
         NULL::jsonb AS result, q.catch_up, q.version, q.token, q.holder AS worker,
         nullif(q.available_at, :parked_until) AS available_at,
         CASE WHEN q.holder IS NOT NULL AND q.available_at <= carillon.now_ms()
              THEN greatest(q.available_at, q.leased_at) END AS started_at,
         NULL::bigint AS finished_at, NULL::bigint AS due_to, 1 AS ticks
  FROM carillon.queue q
  JOIN carillon.routes r ON r.route = q.route
  LEFT JOIN carillon.targets t ON r.kind = 'http' AND t.tenant = r.tenant AND t.host = r.name
  WHERE q.job = :job AND q.due >= :after AND (q.due, q.origin, q.seq) < (:before_due, :before_origin, :before_seq)
),
ended AS MATERIALIZED (
  SELECT last.*
  FROM (
    SELECT DISTINCT ON (l.due, l.origin, l.seq)
           l.due, l.origin, l.seq, l.partition, l.outcome::text AS status, l.attempt, l.max_attempts, l.error, l.reason,
           l.result, l.catch_up, l.version, l.token, l.worker, l.available_at, l.started_at, l.finished_at, l.due_to, l.ticks
    FROM carillon.ledger l
    WHERE l.job = :job AND l.final AND l.due >= :after AND l.due <= :before_due
      AND (l.due, l.origin, l.seq) < (:before_due, :before_origin, :before_seq)
      AND NOT EXISTS (
        SELECT FROM live WHERE live.due = l.due AND live.origin = l.origin AND live.seq = l.seq
      )
    ORDER BY l.due DESC, l.origin DESC, l.seq DESC, l.round DESC
  ) last
  WHERE :status IS NULL OR last.status = :status
  ORDER BY last.due DESC, last.origin DESC, last.seq DESC
  LIMIT :most
)
SELECT * FROM live WHERE :status IS NULL OR status = :status
UNION ALL
SELECT * FROM ended
ORDER BY due DESC, origin DESC, seq DESC
LIMIT :most
