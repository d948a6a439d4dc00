-- The firing statement: turns due ticks into runs and moves the cursors, together or not at all. One autocommit
-- statement for many ticks.
--
-- own      The partitions that are still mine, by epoch, locked FOR KEY SHARE. A plain read would be no fence: after a
--          lock wait Postgres checks only the locked row again, and a fire that waited would commit under an old epoch.
--          A takeover changes the epoch, a key column, and so waits for fires in progress; renewals do not.
-- locked   Timers still at the (due, rev) that was seen. `due` alone is not enough: an edit may leave it equal.
--          SKIP LOCKED: a timer that the API holds is left for the next pass. Found by its start as in read-timers.sql, and
--          written to by its place: a join by key would read every dead version of the timer. One that was changed since
--          this statement's snapshot lies elsewhere now, and is left for the next pass.
-- roomy    The running place that the tick would take: the lowest free one. None while a run of an older version, which
--          allowed more of them, goes on beyond the places there are now; none while a run waits for the only place,
--          which would be overtaken; none for a REPLACE while a run waits for its retry, which the tick replaces at its
--          instant. A plain look: the unique index has the last word.
-- me       The worker of this very process, FOR KEY SHARE as in lease.sql: declaring it dead waits for this statement.
-- lane     The routes whose runs that worker may have at once, already leased: which saves a statement and a write per run. Only
--          what it can serve, and nothing of tenants with a cap or of hosts with limits or an open breaker: they are counted
--          where runs are leased. Whoever limits one of them locks the queue before (cap_tenant, hold_queue), so that no run
--          is handed over by a look from before the limit.
-- fired    The run, unless its place is taken: a constraint, since a query would race with other inserts. By job, as a
--          lease takes places: two orders would deadlock.
-- decided  Looked up in `fired` by IN, which is hashed: a join of the two, whose sizes nobody knows before, was planned as a loop
--          through all of one for each of the other, and took three quarters of the time of a thousand ticks.
--          A tick whose place is taken is decided at its instant, not before ('early'). It is no overlap when the run in
--          its place was itself late or is catching up: then the tick waits its turn ('behind'). Where the policy lets it
--          wait or replace, overlap.sql decides ('taken'). Without a tick to run, missed ones are passed over ('skipped')
--          or put off ('deferred').
-- noted    Ticks that will not run, with the reason.
-- replayed Missed ticks that will run at the pace of catching up: a second cursor, so that fresh ticks never wait for them.
-- moved    The cursor, only where the tick was fired or decided. It ends with the last of `max_runs` runs.
-- ended    A job whose schedule names no further tick.
--
-- Lock order: incarnations, partitions, timers, queue, jobs; each by key. Index: timers_start, primary keys; queue_slot for
-- the conflict.
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
-- @param places smallint[]
-- @param max_attempts smallint[]
-- @param waits boolean[]
-- @param replaces boolean[]
-- @param skip_froms bigint[]
-- @param skip_tos bigint[]
-- @param skip_counts int[]
-- @param replay_froms bigint[]
-- @param replay_tos bigint[]
-- @param replay_counts int[]
-- @param reasons text[]
-- @param max_runs int[]
-- @param gap_jobs bigint[]
-- @param gap_ats bigint[]
-- @param gap_counts int[]
-- @param gap_reasons text[]
-- @param gap_nexts bigint[]
-- @param holder bigint
-- @param handed boolean[]
-- @param tasks text[]
-- @param commands boolean
WITH clock AS MATERIALIZED (
  SELECT carillon.now_ms() AS now, carillon.timeline_base() AS timeline_base
),
me AS MATERIALIZED (
  SELECT incarnation FROM carillon.incarnations
  WHERE incarnation = :holder AND state = 'alive'
  FOR KEY SHARE
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
              :routes, :places, :max_attempts, :waits, :replaces, :skip_froms, :skip_tos, :skip_counts, :replay_froms, :replay_tos,
              :replay_counts, :reasons, :max_runs, :handed)
    AS t (job, partition, start_at, due, rev, run_due, available_at, next_due, next_start, version,
          route, places, max_attempts, waits, replaces, skip_from, skip_to, skip_count, replay_from, replay_to,
          replay_count, reason, max_runs, handed)
),
lane AS MATERIALIZED (
  SELECT asked.route, guard.timeout_seconds
  FROM me
  CROSS JOIN (SELECT DISTINCT route FROM tick WHERE handed) asked
  CROSS JOIN LATERAL (SELECT * FROM carillon.routes r WHERE r.route = asked.route LIMIT 1) r
  LEFT JOIN carillon.targets guard ON r.kind = 'http' AND guard.tenant = r.tenant AND guard.host = r.name
  WHERE CASE r.kind WHEN 'task' THEN r.name = ANY (:tasks) WHEN 'command' THEN :commands ELSE true END
    AND coalesce(carillon.target_limits(guard), false) = false
    AND (SELECT true FROM carillon.tenant_slots s WHERE s.tenant = r.tenant LIMIT 1) IS NULL
),
locked AS MATERIALIZED (
  SELECT tick.*, timer.place AS place_of_timer, timer.tenant,
         coalesce(timer.runs + 1 >= tick.max_runs, false) AS last_run
  FROM (
    SELECT tick.*, own.epoch
    FROM tick JOIN own ON own.partition = tick.partition
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
roomy AS MATERIALIZED (
  SELECT locked.*,
         CASE
           WHEN run_due IS NULL OR places IS NULL THEN NULL
           WHEN (SELECT true FROM carillon.queue q
                 WHERE q.job = locked.job
                   AND (q.slot >= locked.places
                        OR (q.slot = -1 AND locked.places = 1)
                        OR (q.slot IS NULL AND q.places IS NULL
                            AND (q.holder IS NOT NULL
                                 OR (q.round = 0 AND (q.attempt = 1 OR q.available_at <= clock.now))))
                        OR (q.slot IS NULL AND q.places IS NOT NULL AND locked.replaces AND NOT q.catch_up))
                 LIMIT 1) THEN NULL
           WHEN places = 1 THEN 0
           ELSE (SELECT nullif(least(coalesce(min(turn) FILTER (WHERE turn < slot), count(*)), locked.places),
                               locked.places)
                 FROM (SELECT slot, row_number() OVER (ORDER BY slot) - 1 AS turn
                       FROM carillon.queue WHERE job = locked.job AND slot >= 0) held)
         END AS place
  FROM locked CROSS JOIN clock
),
fired AS (
  INSERT INTO carillon.queue (due, job, tenant, route, version, epoch, next_due, slot, places, max_attempts,
                              available_at, fired_at, partition, holder, token, leased_at)
  SELECT run_due, job, tenant, route, version, epoch, CASE WHEN NOT last_run THEN next_due END,
         place, places, max_attempts, available_at, clock.now, partition,
         CASE WHEN leased THEN :holder END,
         CASE WHEN leased THEN clock.timeline_base + nextval('carillon.tokens') END,
         CASE WHEN leased THEN clock.now END
  FROM (SELECT *, handed AND route = ANY (ARRAY(SELECT lane.route FROM lane)) AS leased FROM roomy) roomy CROSS JOIN clock
  WHERE run_due IS NOT NULL AND (places IS NULL OR place IS NOT NULL)
  ORDER BY job
  ON CONFLICT (job, slot) WHERE slot IS NOT NULL DO NOTHING
  RETURNING job, token
),
decided AS MATERIALIZED (
  SELECT roomy.*, clock.now,
         CASE
           WHEN roomy.run_due IS NULL AND roomy.replay_from IS NULL THEN 'skipped'
           WHEN roomy.run_due IS NULL THEN 'deferred'
           WHEN roomy.job IN (SELECT job FROM fired) THEN 'fired'
           WHEN roomy.available_at > clock.now THEN 'early'
           WHEN roomy.places > 1 AND roomy.place IS NOT NULL THEN 'changed'
           WHEN EXISTS (
             SELECT FROM carillon.queue q
             WHERE q.job = roomy.job AND q.slot >= 0 AND (q.fired_at > roomy.run_due OR q.catch_up)
           ) THEN 'behind'
           WHEN roomy.waits THEN 'taken'
           ELSE 'overlap'
         END AS decision
  FROM roomy CROSS JOIN clock
),
final AS MATERIALIZED (
  SELECT * FROM decided WHERE decision IN ('fired', 'overlap', 'skipped', 'deferred')
),
noted AS (
  INSERT INTO carillon.ledger (recorded_at, tenant, job, due, origin, seq, outcome, final, round, attempt, version,
                               epoch, next_due, due_to, ticks, reason, partition)
  SELECT now, tenant, job, skip_from, 0::smallint, 0, 'skipped'::carillon.outcome, true, 0, 0, version,
         epoch, coalesce(replay_from, run_due, next_due), nullif(skip_to, skip_from), skip_count, reason, partition
  FROM final
  WHERE skip_from IS NOT NULL
  UNION ALL
  SELECT now, tenant, job, run_due, 0, 0, 'skipped', true, 0, 0, version,
         epoch, next_due, NULL, 1, 'overlap', partition
  FROM final
  WHERE decision = 'overlap'
  UNION ALL
  SELECT now, tenant, job, gap.at, 0, 0, 'skipped', true, 0, 0, version,
         epoch, coalesce(gap.next, skip_from, replay_from, run_due, next_due), NULL, gap.count, gap.reason, partition
  FROM final
  JOIN unnest(:gap_jobs, :gap_ats, :gap_counts, :gap_reasons, :gap_nexts) AS gap (job, at, count, reason, next)
    USING (job)
),
replayed AS (
  INSERT INTO carillon.replays (tenant, job, kind, from_ms, to_ms, cursor_ms, total, version, reason, partition)
  SELECT tenant, job, 'catch_up', replay_from, replay_to, replay_from, replay_count, version, reason, partition
  FROM final
  WHERE replay_from IS NOT NULL
),
moved AS (
  UPDATE carillon.timers timer
  SET due = CASE WHEN NOT ends THEN f.next_due END,
      start_at = CASE WHEN NOT ends THEN f.next_start END,
      accounted_through = greatest(f.run_due, f.replay_to, f.skip_to),
      runs = timer.runs + (f.decision = 'fired')::int + coalesce(f.replay_count, 0)
  FROM (SELECT *, last_run AND decision = 'fired' AS ends FROM final) f
  WHERE timer.ctid = ANY (ARRAY(SELECT place_of_timer FROM final)) AND timer.ctid = f.place_of_timer
  RETURNING timer.job, timer.due
),
ended AS (
  UPDATE carillon.jobs j
  SET state = 'ended', ended_at = clock.now
  FROM moved CROSS JOIN clock
  WHERE j.job = moved.job AND moved.due IS NULL AND j.state = 'active'
)
SELECT tick.job, tick.due, clock.now, fired.token,
       CASE WHEN fired.token IS NOT NULL THEN (SELECT timeout_seconds FROM lane WHERE lane.route = tick.route) END
         AS timeout_seconds,
       coalesce(decided.decision, CASE WHEN own.partition IS NULL THEN 'refused' ELSE 'changed' END) AS decision
FROM tick
CROSS JOIN clock
LEFT JOIN decided ON decided.job = tick.job
LEFT JOIN fired ON fired.job = tick.job
LEFT JOIN own ON own.partition = tick.partition
