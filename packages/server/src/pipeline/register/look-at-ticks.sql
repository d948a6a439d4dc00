-- One live job with what its coming ticks are told from: its cursor and the runs of its schedule that are in the queue.
-- Plain read. Index: jobs.id, timers' and queue's primary keys.
-- @whole definition
-- @plan each-time
-- @param tenant int
-- @param uuid uuid
SELECT j.job, j.id AS uuid, j.tenant, j.state, j.definition - 'payload' AS definition, t.due, t.start_at,
       t.accounted_through, carillon.now_ms() AS now,
       coalesce((SELECT jsonb_agg(jsonb_build_object('due', q.due, 'origin', q.origin, 'available_at', q.available_at,
                                                     'holder', q.holder))
                 FROM carillon.queue q
                 WHERE q.job = j.job AND q.origin = 0 AND q.attempt = 1 AND q.round = 0 AND NOT q.catch_up
                   AND q.available_at > carillon.now_ms()), '[]') AS queued
FROM carillon.jobs j
JOIN carillon.timers t ON t.job = j.job AND t.partition = j.partition
WHERE j.tenant = :tenant AND j.id = :uuid AND j.state NOT IN ('deleted', 'collected')
