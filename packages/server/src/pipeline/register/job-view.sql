-- One job as people see it. `next_due` is the earliest tick ahead: one that is staged or leased already, or the cursor.
-- `served` says whether a live worker can run it. Plain read. Index: jobs.id, primary keys.
-- @plan each-time
-- @param tenant int
-- @param uuid uuid
-- @param parked_until bigint
SELECT j.job, j.id AS uuid, j.state, j.version, j.definition, j.created_at, j.updated_at, j.ended_at,
       j.paused_at, j.pause_reason, j.paused_until, r.kind, r.name AS task,
       least((SELECT min(q.due) FROM carillon.queue q
              WHERE q.job = j.job AND q.attempt = 1 AND q.available_at > carillon.now_ms()
                AND q.available_at < :parked_until),
             t.due) AS next_due,
       EXISTS (
         SELECT FROM carillon.incarnations i
         WHERE i.state = 'alive' AND 'worker' = ANY (i.roles)
           AND CASE r.kind WHEN 'task' THEN r.name = ANY (i.tasks) WHEN 'command' THEN i.commands ELSE true END
       ) AS served
FROM carillon.jobs j
JOIN carillon.routes r ON r.route = j.route
LEFT JOIN carillon.timers t ON t.job = j.job AND t.partition = j.partition
WHERE j.tenant = :tenant AND j.id = :uuid AND j.state IN ('active', 'paused', 'ended')
