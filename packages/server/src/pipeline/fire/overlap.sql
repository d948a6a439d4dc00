-- Decides ticks of QUEUE and REPLACE jobs whose running place is taken at their instant: fire.sql answered 'taken' and left
-- their cursors. One autocommit statement for many ticks; what it decides moves the cursor, as in fire.sql.
--
-- own      As in fire.sql: the partitions that are still mine, by epoch, FOR KEY SHARE.
-- locked   As in fire.sql: timers still at the (due, rev) that was seen. Whoever else puts runs of a job into the queue
--          (fire, replay, trigger) locks its timer too.
-- run      All runs of these jobs, locked: after a wait for a lease or a close in progress Postgres reads the row again, so
--          what is decided here is decided about the run as it is.
-- weighed  What is in the way. `behind`: the run in the place was itself late or is catching up; the tick waits its turn.
--          `taken`: some run goes on, in a place or, from a version without limit, beside them. Such a one that only waits
--          for its retry is not going on. `kept`: what is still in the way once a REPLACE has removed what nobody holds.
-- asked    REPLACE: a run that a worker holds is the worker's. It is asked to cancel, and gives its place back itself.
-- removed  REPLACE: a run that nobody holds ends here: one that is ready, that waits for the place or for its retry. Runs
--          that catch up are spared: their policy says that they run. So is one of a version without limit that waits for its
--          retry: it is in nobody's way.
-- promoted QUEUE: the running place is free and the waiting run was not leased yet. It takes the place here, so that what
--          becomes of the next tick does not depend on how quick the workers are.
-- fired    The new run: in the running place if that is free now, else in the waiting place. It must see what `removed` and
--          `promoted` did to the unique index: counting their rows first makes sure that they have run to their end.
--          A conflict that is left comes from a run put in after this statement's snapshot and before its locks: nothing
--          is decided then ('changed'), and the next pass sees that run. What a REPLACE removed stays removed.
-- noted, moved, ended   As in fire.sql.
--
-- Lock order: partitions, timers, queue, jobs; each by key. Index: primary keys; queue_slot for all runs of a job.
-- @plan each-time
-- @param owner bigint
-- @param partitions smallint[]
-- @param epochs bigint[]
-- @param jobs bigint[]
-- @param job_partitions smallint[]
-- @param start_ats bigint[]
-- @param dues bigint[]
-- @param revs int[]
-- @param run_dues bigint[]
-- @param available_ats bigint[]
-- @param next_dues bigint[]
-- @param next_starts bigint[]
-- @param versions int[]
-- @param routes int[]
-- @param max_attempts smallint[]
-- @param replaces boolean[]
-- @param skip_froms bigint[]
-- @param skip_tos bigint[]
-- @param skip_counts int[]
-- @param reasons text[]
-- @param max_runs int[]
-- @param gap_jobs bigint[]
-- @param gap_ats bigint[]
-- @param gap_counts int[]
-- @param gap_reasons text[]
-- @param gap_nexts bigint[]
WITH clock AS MATERIALIZED (
  SELECT carillon.now_ms() AS now
),
own AS MATERIALIZED (
  SELECT p.partition, p.epoch
  FROM carillon.partitions p
  JOIN unnest(:partitions, :epochs) AS held (partition, epoch) USING (partition, epoch)
  WHERE p.owner = :owner
  ORDER BY p.partition
  FOR KEY SHARE OF p
),
tick AS MATERIALIZED (
  SELECT *
  FROM unnest(:jobs, :job_partitions, :start_ats, :dues, :revs, :run_dues, :available_ats, :next_dues, :next_starts, :versions,
              :routes, :max_attempts, :replaces, :skip_froms, :skip_tos, :skip_counts, :reasons, :max_runs)
    AS t (job, partition, start_at, due, rev, run_due, available_at, next_due, next_start, version,
          route, max_attempts, replaces, skip_from, skip_to, skip_count, reason, max_runs)
),
locked AS MATERIALIZED (
  SELECT tick.*, timer.place AS place_of_timer, timer.tenant,
         coalesce(timer.runs + 1 >= tick.max_runs, false) AS last_run
  FROM (
    SELECT tick.*, own.epoch
    FROM tick JOIN own ON own.partition = tick.partition
    WHERE tick.available_at <= (SELECT now FROM clock)
    ORDER BY tick.job
  ) tick
  CROSS JOIN LATERAL (
    SELECT ctid AS place FROM carillon.timers
    WHERE timers.partition = tick.partition AND timers.start_at IS NOT NULL
      AND (timers.start_at, timers.job) >= (tick.start_at, tick.job)
      AND (timers.start_at, timers.job) <= (tick.start_at, tick.job)
    ORDER BY timers.start_at, timers.job
    LIMIT 1
  ) seen
  CROSS JOIN LATERAL (
    SELECT ctid AS place, tenant, runs FROM carillon.timers
    WHERE timers.ctid = seen.place AND timers.job = tick.job AND timers.due = tick.due AND timers.rev = tick.rev
    LIMIT 1
    FOR NO KEY UPDATE SKIP LOCKED
  ) timer
  WHERE timer.place = seen.place
),
run AS MATERIALIZED (
  SELECT q.*
  FROM locked
  JOIN carillon.queue q ON q.job = locked.job
  ORDER BY q.due, q.job, q.origin, q.seq
  FOR UPDATE OF q
),
weighed AS MATERIALIZED (
  SELECT locked.*, seen.behind, seen.taken, seen.waiting,
         CASE WHEN locked.replaces THEN seen.kept ELSE seen.taken END AS kept
  FROM locked
  CROSS JOIN clock
  CROSS JOIN LATERAL (
    SELECT coalesce(bool_or(run.slot >= 0 AND (run.fired_at > locked.run_due OR run.catch_up)), false) AS behind,
           coalesce(bool_or(run.slot = -1), false) AS waiting,
           coalesce(bool_or(going.on), false) AS taken,
           coalesce(bool_or(going.on AND (run.holder IS NOT NULL OR run.catch_up)), false) AS kept
    FROM run
    CROSS JOIN LATERAL (
      SELECT run.slot >= 0
             OR (run.slot IS NULL AND run.places IS NULL
                 AND (run.holder IS NOT NULL
                      OR (run.round = 0 AND (run.attempt = 1 OR run.available_at <= clock.now)))) AS "on"
    ) going
    WHERE run.job = locked.job
  ) seen
),
replaced AS MATERIALIZED (
  SELECT run.*
  FROM weighed JOIN run ON run.job = weighed.job CROSS JOIN clock
  WHERE weighed.replaces AND NOT weighed.behind AND NOT run.catch_up
    AND NOT (run.places IS NULL AND run.holder IS NULL AND run.attempt > 1 AND run.available_at > clock.now)
),
asked AS (
  UPDATE carillon.queue q
  SET cancel_requested = true, holder = r.holder, token = r.token, leased_at = r.leased_at
  FROM replaced r
  WHERE r.holder IS NOT NULL AND NOT r.cancel_requested
    AND q.due = r.due AND q.job = r.job AND q.origin = r.origin AND q.seq = r.seq AND q.partition = r.partition
),
removed AS (
  DELETE FROM carillon.queue q
  USING replaced r
  WHERE r.holder IS NULL
    AND q.due = r.due AND q.job = r.job AND q.origin = r.origin AND q.seq = r.seq AND q.partition = r.partition
  RETURNING q.job
),
promoted AS (
  UPDATE carillon.queue q
  SET slot = 0
  FROM weighed JOIN run ON run.job = weighed.job AND run.slot = -1
  WHERE NOT weighed.replaces AND NOT weighed.behind AND NOT weighed.taken
    AND q.due = run.due AND q.job = run.job AND q.origin = run.origin AND q.seq = run.seq AND q.partition = run.partition
  RETURNING q.job
),
fired AS (
  INSERT INTO carillon.queue (due, job, tenant, route, version, epoch, next_due, slot, places, max_attempts,
                              available_at, fired_at, partition)
  SELECT run_due, job, tenant, route, version, epoch, CASE WHEN NOT last_run THEN next_due END,
         CASE WHEN kept OR (waiting AND NOT replaces) THEN -1 ELSE 0 END, 1, max_attempts,
         available_at, clock.now, partition
  FROM weighed CROSS JOIN clock
  WHERE NOT behind AND (replaces OR NOT (taken AND waiting))
    AND (SELECT count(*) FROM removed) + (SELECT count(*) FROM promoted) >= 0
  ORDER BY job
  ON CONFLICT (job, slot) WHERE slot IS NOT NULL DO NOTHING
  RETURNING job
),
decided AS MATERIALIZED (
  SELECT weighed.*, clock.now, fired.job IS NOT NULL AS is_fired
  FROM weighed CROSS JOIN clock LEFT JOIN fired ON fired.job = weighed.job
  WHERE fired.job IS NOT NULL
     OR (NOT weighed.replaces AND NOT weighed.behind AND weighed.taken AND weighed.waiting)
),
noted AS (
  INSERT INTO carillon.ledger (recorded_at, tenant, job, due, origin, seq, outcome, final, round, attempt, version,
                               epoch, next_due, due_to, ticks, reason, partition)
  SELECT now, tenant, job, skip_from, 0::smallint, 0, 'skipped'::carillon.outcome, true, 0, 0, version,
         epoch, run_due, nullif(skip_to, skip_from), skip_count, reason, partition
  FROM decided
  WHERE skip_from IS NOT NULL
  UNION ALL
  SELECT now, tenant, job, run_due, 0, 0, 'skipped', true, 0, 0, version,
         epoch, next_due, NULL, 1, 'overlap', partition
  FROM decided
  WHERE NOT is_fired
  UNION ALL
  SELECT now, tenant, job, gap.at, 0, 0, 'skipped', true, 0, 0, version,
         epoch, coalesce(gap.next, skip_from, run_due), NULL, gap.count, gap.reason, partition
  FROM decided
  JOIN unnest(:gap_jobs, :gap_ats, :gap_counts, :gap_reasons, :gap_nexts) AS gap (job, at, count, reason, next)
    USING (job)
),
noted_replaced AS (
  INSERT INTO carillon.ledger (recorded_at, tenant, job, due, origin, seq, outcome, final, round, attempt,
                               max_attempts, version, epoch, next_due, catch_up, available_at, fired_at, reason, error,
                               partition)
  SELECT clock.now, tenant, job, due, origin, seq, 'cancelled', true, round, attempt,
         max_attempts, version, epoch, next_due, catch_up, available_at, fired_at, 'replaced', last_error, partition
  FROM replaced CROSS JOIN clock
  WHERE holder IS NULL
),
moved AS (
  UPDATE carillon.timers timer
  SET due = CASE WHEN NOT ends THEN d.next_due END,
      start_at = CASE WHEN NOT ends THEN d.next_start END,
      accounted_through = d.run_due,
      runs = timer.runs + d.is_fired::int
  FROM (SELECT *, last_run AND is_fired AS ends FROM decided) d
  WHERE timer.ctid = ANY (ARRAY(SELECT place_of_timer FROM decided)) AND timer.ctid = d.place_of_timer
  RETURNING timer.job, timer.due
),
ended AS (
  UPDATE carillon.jobs j
  SET state = 'ended', ended_at = clock.now
  FROM moved CROSS JOIN clock
  WHERE j.job = moved.job AND moved.due IS NULL AND j.state = 'active'
)
SELECT tick.job, tick.due, clock.now,
       CASE
         WHEN decided.is_fired THEN 'fired'
         WHEN decided.job IS NOT NULL THEN 'overlap'
         WHEN own.partition IS NULL THEN 'refused'
         ELSE 'changed'
       END AS decision
FROM tick
CROSS JOIN clock
LEFT JOIN decided ON decided.job = tick.job
LEFT JOIN own ON own.partition = tick.partition
