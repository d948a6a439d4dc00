-- Jobs with their cursors, as they are under the lock of their timers, and the instant of this look: all that a change
-- decides is decided for that instant. Plain read; primary keys.
-- @whole definition
-- @param jobs bigint[]
SELECT j.job, j.id AS uuid, j.tenant, j.partition, j.name, j.state, j.version, j.definition, j.one_off, j.route,
       j.effective_from, j.zone_data, j.paused_until, j.cancelled_at, j.ticks_changed_until, t.due, t.start_at, t.runs, t.accounted_through,
       carillon.now_ms() AS now
FROM carillon.jobs j
JOIN carillon.timers t ON t.job = j.job AND t.partition = j.partition
WHERE j.job = ANY (:jobs)
ORDER BY j.job
