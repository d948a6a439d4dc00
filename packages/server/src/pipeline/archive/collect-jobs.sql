-- Collects the definitions of one-offs that ended or were cancelled, and of deleted jobs, once the retention is over: the row stays, so
-- that the runs still answer; the definition and the timer go. Kept while a run is in flight, a tick has to be caught up,
-- or a dead letter would need it. Lock: the job with its timer, SKIP LOCKED, so that it never waits for a delete, which takes the timer first.
-- Index: jobs_ended, timers' primary key, replays_of_job.
-- @plan each-time
-- @param retention_ms bigint
-- @param most int
WITH old AS MATERIALIZED (
  SELECT j.job, j.partition
  FROM carillon.jobs j
  JOIN carillon.timers t ON t.job = j.job AND t.partition = j.partition
  WHERE j.ended_at <= carillon.now_ms() - :retention_ms
    AND j.state IN ('ended', 'cancelled', 'deleted') AND (j.one_off OR j.state = 'deleted')
    AND NOT EXISTS (SELECT FROM carillon.queue q WHERE q.job = j.job)
    AND NOT EXISTS (SELECT FROM carillon.dead_letters d WHERE d.job = j.job)
    AND NOT EXISTS (SELECT FROM carillon.replays r WHERE r.job = j.job AND r.state IN ('running', 'paused'))
  ORDER BY j.ended_at
  LIMIT :most
  FOR UPDATE OF t, j SKIP LOCKED
),
untimed AS (
  DELETE FROM carillon.timers t USING old WHERE t.job = old.job AND t.partition = old.partition
),
unversioned AS (
  DELETE FROM carillon.job_versions v USING old WHERE v.job = old.job
)
UPDATE carillon.jobs j
SET state = 'collected', definition = NULL, updated_at = carillon.now_ms()
FROM old
WHERE j.job = old.job
RETURNING j.job
