-- The short way of the firing statement, for plain ticks: the tick that the cursor names, at its turn, with nothing skipped, put
-- off or jumped over, and another tick after it. That is nearly all of them, and costs half of fire.sql. It decides nothing: what
-- it does not fire goes to fire.sql, which says why. The same fences hold.
--
-- own      The partitions that are still mine, as in fire.sql: FOR KEY SHARE, so that a takeover waits for fires in progress.
-- me, lane The worker of this very process and the routes whose runs it may have at once, as in fire.sql.
-- moved    The cursor, in place: the row that was seen lies at `place` as long as nobody has changed it, and is found there
--          without an index. Job, due and rev are compared all the same, after a wait for a lock, too; so a row that took the place
--          of another is not taken for it. Only where the job has no run in the queue: then its first place is free, and nothing
--          waits for it that would be overtaken. One that a statement not seen here has put in meanwhile holds that place by a
--          unique index: this statement fails as a whole, moves nothing, and fire.sql decides.
-- fired    The run, in the order of the jobs (which the caller sorts by), as a lease takes places.
-- A timer that the API holds is waited for, but no longer than `lock_timeout`, set here for this statement alone: fire.sql
-- passes over it. It is set in `own`, which has to be there before the first timer is touched.
-- `= true` keeps the look into `own` a hashed one: as a join it is planned as a loop through all of it for each tick.
-- Columns are taken apart in the list of what is selected: in FROM, each would be written to a store of its own and read from there. They are equally long.
-- Answers one row of columns: rows would be taken apart by the caller field by field.
--
-- Lock order: partitions, timers by job, the worker's incarnation after the first of them (FOR KEY SHARE, which only its end
-- waits for), queue. No wait is longer than `lock_timeout`, so none becomes a deadlock as long as Postgres looks for those later
-- (`deadlock_timeout`, one second unless told otherwise). Index: queue's primary key, for the job.
-- @plan once
-- @param owner bigint
-- @param partitions smallint[]
-- @param epochs bigint[]
-- @param timer_places tid[]
-- @param jobs bigint[]
-- @param job_partitions smallint[]
-- @param job_epochs bigint[]
-- @param dues bigint[]
-- @param revs int[]
-- @param available_ats bigint[]
-- @param next_dues bigint[]
-- @param next_starts bigint[]
-- @param versions int[]
-- @param routes int[]
-- @param places smallint[]
-- @param max_attempts smallint[]
-- @param holder bigint
-- @param tasks text[]
-- @param commands boolean
WITH clock AS MATERIALIZED (
  SELECT carillon.now_ms() AS now, carillon.timeline_base() AS timeline_base,
         set_config('lock_timeout', '100', true) AS lock_timeout
),
me AS MATERIALIZED (
  SELECT incarnation FROM carillon.incarnations
  WHERE incarnation = :holder AND state = 'alive'
  FOR KEY SHARE
),
own AS MATERIALIZED (
  SELECT p.partition, p.epoch, clock.lock_timeout
  FROM carillon.partitions p
  JOIN unnest(:partitions, :epochs) AS held (partition, epoch) USING (partition, epoch)
  CROSS JOIN clock
  WHERE p.owner = :owner
  ORDER BY p.partition
  FOR KEY SHARE OF p
),
lane AS MATERIALIZED (
  SELECT asked.route, guard.timeout_seconds
  FROM me
  CROSS JOIN (SELECT DISTINCT route FROM unnest(:routes) AS t (route)) asked
  CROSS JOIN LATERAL (SELECT * FROM carillon.routes r WHERE r.route = asked.route LIMIT 1) r
  LEFT JOIN carillon.targets guard ON r.kind = 'http' AND guard.tenant = r.tenant AND guard.host = r.name
  WHERE CASE r.kind WHEN 'task' THEN r.name = ANY (:tasks) WHEN 'command' THEN :commands ELSE true END
    AND coalesce(carillon.target_limits(guard), false) = false
    AND (SELECT true FROM carillon.tenant_slots s WHERE s.tenant = r.tenant LIMIT 1) IS NULL
),
moved AS (
  UPDATE carillon.timers timer
  SET due = tick.next_due, start_at = tick.next_start, accounted_through = tick.due, runs = timer.runs + 1
  FROM (
    SELECT unnest(:timer_places) AS place, unnest(:jobs) AS job, unnest(:job_partitions) AS partition, unnest(:job_epochs) AS epoch,
           unnest(:dues) AS due, unnest(:revs) AS rev, unnest(:available_ats) AS available_at, unnest(:next_dues) AS next_due,
           unnest(:next_starts) AS next_start, unnest(:versions) AS version, unnest(:routes) AS route, unnest(:places) AS places,
           unnest(:max_attempts) AS max_attempts
  ) tick
  WHERE ((tick.partition, tick.epoch) IN (SELECT own.partition, own.epoch FROM own)) = true
    AND timer.ctid = tick.place AND timer.job = tick.job AND timer.due = tick.due AND timer.rev = tick.rev
    AND timer.partition = tick.partition
    AND (tick.places IS NULL OR (SELECT true FROM carillon.queue q WHERE q.job = tick.job LIMIT 1) IS NULL)
  RETURNING timer.ctid AS place, timer.tenant, timer.partition, tick.job, tick.epoch, tick.due, tick.available_at, tick.next_due,
            tick.version, tick.route, tick.places, tick.max_attempts
),
fired AS (
  INSERT INTO carillon.queue (due, job, tenant, route, version, epoch, next_due, slot, places, max_attempts,
                              available_at, fired_at, partition, holder, token, leased_at)
  SELECT due, job, tenant, route, version, epoch, next_due, CASE WHEN places IS NOT NULL THEN 0 END, places, max_attempts,
         available_at, clock.now, partition,
         CASE WHEN leased THEN :holder END,
         CASE WHEN leased THEN clock.timeline_base + nextval('carillon.tokens') END,
         CASE WHEN leased THEN clock.now END
  FROM (SELECT *, route = ANY (ARRAY(SELECT lane.route FROM lane)) AS leased FROM moved) moved CROSS JOIN clock
  RETURNING job, token, ctid AS place
)
SELECT clock.now, run.*, timer.*, guarded.*
FROM clock
CROSS JOIN (
  SELECT coalesce(array_agg(job), '{}') AS jobs, coalesce(array_agg(token), '{}') AS tokens,
         coalesce(array_agg(place), '{}') AS run_places
  FROM fired
) run
CROSS JOIN (
  SELECT coalesce(array_agg(job), '{}') AS moved, coalesce(array_agg(place), '{}') AS timer_places FROM moved
) timer
CROSS JOIN (
  SELECT coalesce(array_agg(route), '{}') AS slow_routes, coalesce(array_agg(timeout_seconds), '{}') AS timeouts
  FROM lane WHERE timeout_seconds IS NOT NULL
) guarded
