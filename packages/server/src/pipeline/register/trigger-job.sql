-- Makes the run that somebody asked for, with an identity of its own (origin 1), so that it never takes the place of a
-- tick; or notes that its overlap policy passes over it. The cursor stays, and it does not count for max_runs.
-- Runs in the transaction of lock-timer.sql and look-at-runs.sql: the places of the job are known and cannot be taken
-- meanwhile. Lock order: timers, queue, jobs. Index: jobs' primary key; queue_slot has the last word.
-- @plan each-time
-- @param job bigint
-- @param now bigint
-- @param runs boolean
-- @param slot smallint
-- @param places smallint
-- @param max_attempts smallint
WITH wanted AS MATERIALIZED (
  SELECT job, tenant, route, version, partition, nextval('carillon.trigger_seq')::int AS seq
  FROM carillon.jobs
  WHERE job = :job
),
made AS (
  INSERT INTO carillon.queue (due, job, origin, seq, tenant, route, version, epoch, slot, places, max_attempts,
                              available_at, fired_at, partition)
  SELECT :now, job, 1, seq, tenant, route, version, 0, :slot, :places, :max_attempts, :now, :now, partition
  FROM wanted
  WHERE :runs
),
noted AS (
  INSERT INTO carillon.ledger (recorded_at, tenant, job, due, origin, seq, outcome, final, round, attempt, version,
                               epoch, reason, partition)
  SELECT :now, tenant, job, :now, 1, seq, 'skipped', true, 0, 0, version, 0, 'overlap', partition
  FROM wanted
  WHERE NOT :runs
)
UPDATE carillon.jobs j
SET changed_at = :now
FROM wanted
WHERE j.job = wanted.job
RETURNING wanted.seq, wanted.version, wanted.partition
