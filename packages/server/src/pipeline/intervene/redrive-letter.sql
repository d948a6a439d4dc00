-- Re-drives one dead letter: from dead_letters to the queue in one statement, as the first attempt of a new round. Its
-- tick, and so its idempotency key, stay. It has no overlap place yet and takes one when it is leased. A payload, where one
-- is given, is kept with the run; otherwise it keeps the one that it had.
--
-- letter   The timer FOR SHARE, as every change of a job takes it FOR UPDATE: a delete or a pause waits for this statement
--          and then sees the run, or this one waits for it. The job FOR SHARE too: only a row that is locked is read again
--          after the wait. Runs of a paused job are parked; of a deleted one nothing starts any more.
--          The letter FOR UPDATE: of two who re-drive or discard it at once, the second finds it gone.
-- goes     As the version that died; or, where `current`, as the job is now, for a fault that was in its definition.
-- Lock order: timers, jobs, dead_letters, queue. Index: primary keys.
-- @plan each-time
-- @param tenant int
-- @param due bigint
-- @param job bigint
-- @param origin smallint
-- @param seq int
-- @param partition smallint
-- @param current boolean
-- @param payload text
-- @param parked_until bigint
WITH clock AS MATERIALIZED (
  SELECT carillon.now_ms() AS now
),
letter AS MATERIALIZED (
  SELECT d.*, j.state AS job_state, goes.*
  FROM carillon.dead_letters d
  JOIN carillon.timers t ON t.job = d.job AND t.partition = d.partition
  JOIN carillon.jobs j ON j.job = d.job
  CROSS JOIN LATERAL (
    SELECT CASE WHEN :current THEN j.version ELSE d.version END AS as_version,
           CASE WHEN :current THEN j.route ELSE d.route END AS as_route,
           CASE WHEN NOT :current THEN d.places
                WHEN j.definition ->> 'overlap_policy' = 'ALLOW' THEN (j.definition ->> 'max_concurrent')::smallint
                ELSE 1 END AS as_places,
           CASE WHEN :current THEN 1 + coalesce((j.definition ->> 'max_retries')::smallint, 3) ELSE d.max_attempts END AS as_attempts
  ) goes
  WHERE d.tenant = :tenant AND d.due = :due AND d.job = :job AND d.origin = :origin AND d.seq = :seq
    AND d.partition = :partition AND j.state NOT IN ('deleted', 'collected')
  FOR SHARE OF t, j
  FOR UPDATE OF d
),
gone AS (
  DELETE FROM carillon.dead_letters d
  USING letter
  WHERE d.due = letter.due AND d.job = letter.job AND d.origin = letter.origin AND d.seq = letter.seq
    AND d.partition = letter.partition
)
INSERT INTO carillon.queue (due, job, origin, seq, tenant, route, version, epoch, next_due, slot, places, attempt,
                            max_attempts, round, available_at, fired_at, catch_up, last_error, payload, partition)
SELECT due, job, origin, seq, tenant, as_route, as_version, epoch, next_due, NULL, as_places, 1,
       as_attempts, round + 1, CASE WHEN origin = 0 AND job_state = 'paused' THEN :parked_until ELSE clock.now END,
       clock.now, catch_up, error, coalesce(:payload::jsonb, payload), partition
FROM letter CROSS JOIN clock
RETURNING round
