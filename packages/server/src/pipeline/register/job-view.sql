-- One job as people see it: the same as list/show-jobs.sql, which says what its columns mean. Plain read.
-- Index: jobs.id, primary keys; queue's primary key (job), ledger_history (job, due DESC) in each ledger partition.
-- @whole definition
-- @plan each-time
-- @param tenant int
-- @param uuid uuid
-- @param parked_until bigint
SELECT j.job, j.id AS uuid, j.state, j.version, j.definition, j.created_at, j.updated_at, j.ended_at,
       j.paused_at, j.pause_reason, j.paused_until, j.cancelled_at, j.cancel_reason, r.kind, r.name AS task,
       least((SELECT min(q.due) FROM carillon.queue q
              WHERE q.job = j.job AND q.attempt = 1 AND q.available_at > carillon.now_ms()
                AND q.available_at < :parked_until),
             t.due) AS next_due,
       CASE WHEN j.ticks_changed_until >= t.due THEN t.due END AS changed_from,
       live.due AS live_due, live.status AS live_status, last.due AS last_due, last.outcome AS last_outcome,
       EXISTS (
         SELECT FROM carillon.incarnations i
         WHERE i.state = 'alive' AND 'worker' = ANY (i.roles)
           AND CASE r.kind WHEN 'task' THEN r.name = ANY (i.tasks) WHEN 'command' THEN i.commands ELSE true END
           AND (i.tenant IS NULL OR (i.tenant = r.tenant AND r.kind = 'task'))
       ) AS served
FROM carillon.jobs j
JOIN carillon.routes r ON r.route = j.route
LEFT JOIN carillon.timers t ON t.job = j.job AND t.partition = j.partition
LEFT JOIN LATERAL (
  SELECT q.due, CASE WHEN q.holder IS NOT NULL AND q.available_at <= carillon.now_ms() THEN 'running' ELSE 'pending' END
                AS status
  FROM carillon.queue q
  WHERE q.job = j.job AND q.due <= carillon.now_ms()
  ORDER BY q.due DESC
  LIMIT 1
) live ON true
LEFT JOIN LATERAL (
  SELECT coalesce(l.due_to, l.due) AS due, l.outcome::text AS outcome
  FROM carillon.ledger l
  WHERE l.job = j.job AND l.final AND l.due <= carillon.now_ms()
  ORDER BY l.due DESC, l.recorded_at DESC
  LIMIT 1
) last ON true
WHERE j.tenant = :tenant AND j.id = :uuid AND j.state IN ('active', 'paused', 'ended', 'cancelled')
