-- Begins a backfill: a cursor of its own over ticks that are fixed from here on. One of a paused job waits with it; one
-- without a tick is done. Runs in the transaction of lock-timer.sql. Primary keys.
-- @param job bigint
-- @param now bigint
-- @param from bigint
-- @param to bigint
-- @param ticks bigint[]
-- @param per_minute int
-- @param only_missing boolean
-- @param reason text
INSERT INTO carillon.replays (tenant, job, kind, from_ms, to_ms, cursor_ms, total, per_minute, state, created_at, partition,
                              version, reason, ticks, next_at, ended_at, only_missing)
SELECT tenant, job, 'backfill', :from, :to, coalesce((:ticks)[1], :from), cardinality(:ticks), :per_minute,
       CASE WHEN cardinality(:ticks) = 0 THEN 'done' WHEN state = 'paused' THEN 'paused' ELSE 'running' END, :now, partition,
       version, :reason, :ticks, :now, CASE WHEN cardinality(:ticks) = 0 THEN :now END, :only_missing
FROM carillon.jobs
WHERE job = :job
RETURNING replay
