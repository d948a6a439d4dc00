-- The firing statement: turns due ticks into runs and moves the cursors, together or not at all. One autocommit
-- statement for many ticks.
--
-- own      The partitions that are still mine, by epoch, locked FOR KEY SHARE. A plain read would be no fence: after a
--          lock wait Postgres checks only the locked row again, and a fire that waited would commit under an old epoch.
--          A takeover changes the epoch, a key column, and so waits for fires in progress; renewals do not.
-- locked   Timers still at the (due, rev) that was seen. `due` alone is not enough: an edit may leave it equal.
--          SKIP LOCKED: a timer that the API holds is left for the next pass.
-- fired    The run, unless its overlap place is taken: a constraint, since a query would race with other inserts. By job,
--          as a lease takes places: two orders would deadlock.
-- decided  A tick whose place is taken is decided at its instant, not before. It counts as overlap only when the run in
--          its place was fired before this tick's time; where Carillon itself was late, the tick waits its turn.
-- noted    Ticks that will not run, with the reason.
-- moved    The cursor, only where the tick was fired or decided. It ends with the last of `max_runs` runs.
-- ended    A job whose schedule names no further tick.
--
-- Lock order: partitions, timers, queue, jobs; each by key. Index: primary keys; queue_slot for the conflict.
-- @plan each-time
-- @param owner bigint
-- @param partitions smallint[]
-- @param epochs bigint[]
-- @param jobs bigint[]
-- @param job_partitions smallint[]
-- @param dues bigint[]
-- @param revs int[]
-- @param run_dues bigint[]
-- @param available_ats bigint[]
-- @param next_dues bigint[]
-- @param next_starts bigint[]
-- @param versions int[]
-- @param routes int[]
-- @param places smallint[]
-- @param max_attempts smallint[]
-- @param catch_ups boolean[]
-- @param skip_froms bigint[]
-- @param skip_tos bigint[]
-- @param skip_counts int[]
-- @param max_runs int[]
-- @param gap_jobs bigint[]
-- @param gap_ats bigint[]
-- @param gap_counts int[]
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
  FROM unnest(:jobs, :job_partitions, :dues, :revs, :run_dues, :available_ats, :next_dues, :next_starts, :versions,
              :routes, :places, :max_attempts, :catch_ups, :skip_froms, :skip_tos, :skip_counts, :max_runs)
    AS t (job, partition, due, rev, run_due, available_at, next_due, next_start, version,
          route, places, max_attempts, catch_up, skip_from, skip_to, skip_count, max_runs)
),
locked AS MATERIALIZED (
  SELECT tick.*, timer.tenant, own.epoch, coalesce(timer.runs + 1 >= tick.max_runs, false) AS last_run
  FROM tick
  JOIN own ON own.partition = tick.partition
  JOIN carillon.timers timer
    ON timer.job = tick.job AND timer.partition = tick.partition AND timer.due = tick.due AND timer.rev = tick.rev
  ORDER BY timer.job
  FOR NO KEY UPDATE OF timer SKIP LOCKED
),
fired AS (
  INSERT INTO carillon.queue (due, job, tenant, route, version, epoch, next_due, slot, places, max_attempts,
                              available_at, fired_at, catch_up, partition)
  SELECT run_due, job, tenant, route, version, epoch, CASE WHEN NOT last_run THEN next_due END,
         CASE WHEN places IS NOT NULL THEN 0 END, places, max_attempts, available_at, clock.now, catch_up, partition
  FROM locked CROSS JOIN clock
  WHERE run_due IS NOT NULL
  ORDER BY job
  ON CONFLICT (job, slot) DO NOTHING
  RETURNING job
),
decided AS MATERIALIZED (
  SELECT locked.*, clock.now,
         CASE
           WHEN locked.run_due IS NULL THEN 'skipped'
           WHEN fired.job IS NOT NULL THEN 'fired'
           WHEN locked.available_at > clock.now THEN 'early'
           WHEN EXISTS (
             SELECT FROM carillon.queue q
             WHERE q.job = locked.job AND q.slot = 0 AND q.fired_at > locked.run_due
           ) THEN 'behind'
           ELSE 'overlap'
         END AS decision
  FROM locked CROSS JOIN clock LEFT JOIN fired ON fired.job = locked.job
),
noted AS (
  INSERT INTO carillon.ledger (recorded_at, tenant, job, due, origin, seq, outcome, final, round, attempt, version,
                               epoch, next_due, due_to, ticks, catch_up, reason, partition)
  SELECT now, tenant, job, skip_from, 0::smallint, 0, 'skipped'::carillon.outcome, true, 0, 0, version,
         epoch, coalesce(run_due, next_due), nullif(skip_to, skip_from), skip_count, false, 'missed', partition
  FROM decided
  WHERE skip_from IS NOT NULL AND decision IN ('fired', 'overlap', 'skipped')
  UNION ALL
  SELECT now, tenant, job, run_due, 0, 0, 'skipped', true, 0, 0, version,
         epoch, next_due, NULL, 1, catch_up, 'overlap', partition
  FROM decided
  WHERE decision = 'overlap'
  UNION ALL
  SELECT now, tenant, job, gap.at, 0, 0, 'skipped', true, 0, 0, version,
         epoch, coalesce(skip_from, run_due, next_due), NULL, gap.count, false, 'dst_gap', partition
  FROM decided
  JOIN unnest(:gap_jobs, :gap_ats, :gap_counts) AS gap (job, at, count) USING (job)
  WHERE decision IN ('fired', 'overlap', 'skipped')
),
moved AS (
  UPDATE carillon.timers timer
  SET due = CASE WHEN NOT ends THEN d.next_due END,
      start_at = CASE WHEN NOT ends THEN d.next_start END,
      accounted_through = coalesce(d.run_due, d.skip_to),
      runs = timer.runs + (d.decision = 'fired')::int
  FROM (SELECT *, last_run AND decision = 'fired' AS ends FROM decided) d
  WHERE timer.job = d.job AND timer.partition = d.partition AND d.decision IN ('fired', 'overlap', 'skipped')
  RETURNING timer.job, timer.due
),
ended AS (
  UPDATE carillon.jobs j
  SET state = 'ended', ended_at = clock.now
  FROM moved CROSS JOIN clock
  WHERE j.job = moved.job AND moved.due IS NULL AND j.state = 'active'
)
SELECT tick.job, tick.due, clock.now,
       coalesce(decided.decision, CASE WHEN own.partition IS NULL THEN 'refused' ELSE 'changed' END) AS decision
FROM tick
CROSS JOIN clock
LEFT JOIN decided ON decided.job = tick.job
LEFT JOIN own ON own.partition = tick.partition
