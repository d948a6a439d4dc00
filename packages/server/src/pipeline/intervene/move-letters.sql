-- One batch of a re-drive, as many as its pace allows by now: letters to the queue, as redrive-letter.sql moves one, and
-- the progress beside it. One statement, so that a crash leaves nothing half done and nothing is moved twice.
--
-- mine     The re-drive FOR UPDATE SKIP LOCKED: of several schedulers one moves, and the pace holds for the fleet.
-- pace     What is not used up of the pace, for one second at most: after an outage there is no burst. The canaries go
--          at once. A clock that was set back does not stop it.
-- letter   SKIP LOCKED, so that it never waits: a letter that a person has in hand, or whose job is being fired or
--          changed, comes in the next batch. Timer and job FOR SHARE for the reason that redrive-letter.sql gives.
-- left     Whether any is still to be moved. Letters of deleted jobs are not: nothing of these starts any more.
-- Lock order: redrives, timers, jobs, dead_letters, queue. Index: redrives' primary key; dead_letters_latest,
-- dead_letters_latest_of_job or dead_letters_alike; primary keys.
-- @plan each-time
-- @param redrive bigint
-- @param most int
-- @param parked_until bigint
WITH clock AS MATERIALIZED (
  SELECT carillon.now_ms() AS now
),
mine AS MATERIALIZED (
  SELECT r.*
  FROM carillon.redrives r
  WHERE r.redrive = :redrive AND r.state IN ('canary', 'running')
  FOR UPDATE OF r SKIP LOCKED
),
pace AS MATERIALIZED (
  SELECT mine.*, since.at AS since,
         least(:most, CASE WHEN mine.state = 'canary' THEN mine.canary - mine.moved
                           ELSE floor((clock.now - since.at) * mine.per_second / 1000)::int END) AS budget
  FROM mine CROSS JOIN clock CROSS JOIN LATERAL (
    SELECT greatest(least(mine.paced_at, clock.now), clock.now - ceil(greatest(1000, 1000 / mine.per_second))) AS at
  ) since
),
letter AS MATERIALIZED (
  SELECT matching.*
  FROM pace CROSS JOIN LATERAL (
    SELECT d.*, j.state AS job_state, goes.*
    FROM carillon.dead_letters d
    JOIN carillon.timers t ON t.job = d.job AND t.partition = d.partition
    JOIN carillon.jobs j ON j.job = d.job
    CROSS JOIN LATERAL (
      SELECT CASE WHEN pace.current_version THEN j.version ELSE d.version END AS as_version,
             CASE WHEN pace.current_version THEN j.route ELSE d.route END AS as_route,
             CASE WHEN NOT pace.current_version THEN d.places
                  WHEN j.definition ->> 'overlap_policy' = 'ALLOW' THEN (j.definition ->> 'max_concurrent')::smallint
                  ELSE 1 END AS as_places,
             CASE WHEN pace.current_version THEN 1 + coalesce((j.definition ->> 'max_retries')::smallint, 3) ELSE d.max_attempts END AS as_attempts
    ) goes
    WHERE d.tenant = pace.tenant AND (pace.job IS NULL OR d.job = pace.job)
      AND (pace.fingerprint IS NULL OR d.fingerprint = pace.fingerprint)
      AND d.dead_at >= pace.after_ms AND d.dead_at < pace.before_ms AND j.state NOT IN ('deleted', 'collected')
    ORDER BY d.dead_at, d.due, d.job, d.origin, d.seq
    LIMIT pace.budget
    FOR SHARE OF t, j SKIP LOCKED
    FOR UPDATE OF d SKIP LOCKED
  ) matching
),
gone AS (
  DELETE FROM carillon.dead_letters d
  USING letter
  WHERE d.due = letter.due AND d.job = letter.job AND d.origin = letter.origin AND d.seq = letter.seq
    AND d.partition = letter.partition
),
queued AS (
  INSERT INTO carillon.queue (due, job, origin, seq, tenant, route, version, epoch, next_due, slot, places, attempt,
                              max_attempts, round, available_at, fired_at, catch_up, last_error, payload, partition)
  SELECT due, job, origin, seq, tenant, as_route, as_version, epoch, next_due, NULL, as_places, 1,
         as_attempts, round + 1, CASE WHEN origin = 0 AND job_state = 'paused' THEN :parked_until ELSE clock.now END,
         clock.now, catch_up, error, payload, partition
  FROM letter CROSS JOIN clock
),
batch AS MATERIALIZED (
  SELECT count(*)::int AS moved,
         coalesce(jsonb_agg(jsonb_build_object('due', due, 'job', job, 'origin', origin, 'seq', seq, 'partition', partition,
                                               'round', round + 1)), '[]') AS runs,
         EXISTS (
           SELECT
           FROM pace
           JOIN carillon.dead_letters d
             ON d.tenant = pace.tenant AND (pace.job IS NULL OR d.job = pace.job)
             AND (pace.fingerprint IS NULL OR d.fingerprint = pace.fingerprint)
             AND d.dead_at >= pace.after_ms AND d.dead_at < pace.before_ms
           JOIN carillon.jobs j ON j.job = d.job AND j.state NOT IN ('deleted', 'collected')
           LEFT JOIN letter taken ON taken.due = d.due AND taken.job = d.job AND taken.origin = d.origin AND taken.seq = d.seq
             AND taken.partition = d.partition
           WHERE taken.due IS NULL
         ) AS left_over
  FROM letter
),
progress AS MATERIALIZED (
  SELECT pace.redrive, batch.*, pace.since,
         CASE
           WHEN pace.state = 'canary' AND batch.left_over AND pace.moved + batch.moved < pace.canary THEN 'canary'
           WHEN pace.state = 'canary' AND pace.moved + batch.moved > 0 THEN 'watching'
           WHEN batch.left_over THEN 'running'
           ELSE 'done'
         END AS next_state
  FROM pace CROSS JOIN batch
)
UPDATE carillon.redrives r
SET moved = r.moved + p.moved,
    canaries = CASE WHEN r.state = 'canary' THEN r.canaries || p.runs ELSE r.canaries END,
    paced_at = p.since + ceil(p.moved * 1000 / r.per_second),
    state = p.next_state,
    ended_at = CASE WHEN p.next_state = 'done' THEN clock.now END
FROM progress p CROSS JOIN clock
WHERE r.redrive = p.redrive
RETURNING p.moved, r.state
