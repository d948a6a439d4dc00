-- Makes the runs that somebody asked for, of one job or of many, each with an identity of its own (origin 1), so that it
-- never takes the place of a tick; or notes that its overlap policy passes over it. The cursor stays, and it does not count
-- for max_runs. Runs in the transaction of lock-timer.sql and look-at-runs.sql: the places of the jobs are known and cannot
-- be taken meanwhile. Lock order: timers, queue, jobs. Index: jobs' primary key; queue_slot has the last word.
-- @plan each-time
-- @param jobs bigint[]
-- @param now bigint
-- @param runs boolean[]
-- @param slots smallint[]
-- @param places smallint[]
-- @param max_attempts smallint[]
WITH wanted AS MATERIALIZED (
  SELECT j.job, j.tenant, j.route, j.version, j.partition, asked.runs, asked.slot, asked.places, asked.max_attempts,
         nextval('carillon.trigger_seq')::int AS seq
  FROM unnest(:jobs, :runs, :slots, :places, :max_attempts) AS asked (job, runs, slot, places, max_attempts)
  JOIN carillon.jobs j ON j.job = asked.job
),
made AS (
  INSERT INTO carillon.queue (due, job, origin, seq, tenant, route, version, epoch, slot, places, max_attempts,
                              available_at, fired_at, partition)
  SELECT :now, job, 1, seq, tenant, route, version, 0, slot, places, max_attempts, :now, :now, partition
  FROM wanted
  WHERE runs
),
noted AS (
  INSERT INTO carillon.ledger (recorded_at, tenant, job, due, origin, seq, outcome, final, round, attempt, version,
                               epoch, reason, partition)
  SELECT :now, tenant, job, :now, 1, seq, 'skipped', true, 0, 0, version, 0, 'overlap', partition
  FROM wanted
  WHERE NOT runs
)
UPDATE carillon.jobs j
SET changed_at = :now
FROM wanted
WHERE j.job = wanted.job
RETURNING wanted.job, wanted.seq, wanted.version, wanted.partition
