-- Leases runs that this worker can serve and that start within `ahead_ms`, in fair order, each with a new token.
--
-- me       The worker's own row, FOR KEY SHARE: declaring it dead waits for this lease, so no lease can follow a death.
-- lane     The routes that this worker serves. `spent`: the tenant's account, in runs by weight, as this worker keeps it.
--          A tenant that had nothing to run begins at `virtual`, where the others are: it has saved nothing up. The caller
--          knows from where on each lane has runs: below that lie entries of runs that are gone, which stay as long as
--          any old transaction is open.
-- looked   What could be leased, at most `most` of a lane: a plain look. Inside a tenant what is due comes before what is
--          not, then each step of priority counts as `step_ms` of waiting: the lowest goes before the highest once it
--          has waited so much longer.
--          A run in the waiting place (slot -1), or that gave its place back for the time until its retry (slot NULL, with
--          places), needs a running place. It takes one at its own time, never ahead of it: a place held by a run that
--          may not start yet would make a tick in between an overlap with nothing. And only while one of its job's
--          places is free and no run of an older version goes on outside them: an edit that narrows counts for the
--          waiting too. An older run without limit that waits for its retry is not going on. Of `freed` jobs, which just
--          gave back a place, all that wait are looked at, wherever they lie.
-- share    Round robin by weight: each run costs its tenant 1/weight, the smallest account goes first. A tenant with a cap
--          takes part with as much as is free.
-- ready    As many of each lane as its share. SKIP LOCKED in a materialized CTE: IN (SELECT … LIMIT … SKIP LOCKED) may
--          lock more than its limit. No more is locked than is leased: other workers would pass over the rest.
-- free     The lowest free places of each job that wants some, as many as are wanted.
-- placed   The oldest of a job takes the lowest place. What is left over waits for the next pass.
-- slots    Tenants with a cap, locked. After a wait Postgres reads the row again, so that `taken` counts every lease
--          before this one; counting the queue would count those of the snapshot.
-- chosen   What fits under the caps.
-- A worker over HTTP (`tenant` set) leases tasks of its tenant only, and gets a deadline with each: the timeout of the job,
-- which nobody else would keep.
-- The unique index has the last word: a race with a fire or a trigger fails the statement, to be repeated.
-- The looks for places are subqueries with LIMIT or an aggregate, which is one probe per row; NOT EXISTS inside OR would
-- be hashed over the whole queue.
-- The answer has at least one row, the first with all lanes that had runs and their first instants.
-- Index: queue_ready and queue_waiting (route, available_at), one range per lane; queue_slot for the places.
-- Lock order: incarnations, queue, tenant_slots.
-- @plan each-time
-- @param holder bigint
-- @param tenant int
-- @param tasks text[]
-- @param commands boolean
-- @param ahead_ms bigint
-- @param step_ms bigint
-- @param most int
-- @param from bigint
-- @param routes int[]
-- @param ready_froms bigint[]
-- @param waiting_froms bigint[]
-- @param freed bigint[]
-- @param tenants int[]
-- @param accounts float8[]
-- @param virtual float8
WITH clock AS MATERIALIZED (
  SELECT carillon.now_ms() AS now, carillon.timeline_base() AS timeline_base
),
me AS MATERIALIZED (
  SELECT incarnation FROM carillon.incarnations
  WHERE incarnation = :holder AND state = 'alive'
  FOR KEY SHARE
),
lane AS MATERIALIZED (
  SELECT r.route, r.tenant, r.priority, t.weight, least(s.capacity - s.taken, :most) AS room,
         greatest(account.spent, :virtual) AS spent,
         coalesce(known.ready_from, :from) AS ready_from, coalesce(known.waiting_from, :from) AS waiting_from
  FROM me
  CROSS JOIN carillon.routes r
  JOIN carillon.tenants t ON t.tenant = r.tenant
  LEFT JOIN carillon.tenant_slots s ON s.tenant = r.tenant
  LEFT JOIN unnest(:routes, :ready_froms, :waiting_froms) AS known (route, ready_from, waiting_from)
    ON known.route = r.route
  LEFT JOIN unnest(:tenants, :accounts) AS account (tenant, spent) ON account.tenant = r.tenant
  WHERE CASE
          WHEN :tenant IS NOT NULL THEN r.tenant = :tenant AND r.kind = 'task' AND r.name = ANY (:tasks)
          ELSE r.kind = 'http' OR (r.kind = 'task' AND r.name = ANY (:tasks)) OR (r.kind = 'command' AND :commands)
        END
),
freed AS MATERIALIZED (
  SELECT *
  FROM carillon.queue
  WHERE job = ANY (:freed) AND holder IS NULL AND places IS NOT NULL AND coalesce(slot, -1) < 0
),
looked AS MATERIALIZED (
  SELECT lane.route, lane.tenant, lane.weight, lane.spent, lane.room, seen.*,
         row_number() OVER (
           PARTITION BY lane.tenant
           ORDER BY seen.available_at > clock.now, seen.available_at - lane.priority * :step_ms, seen.available_at
         ) AS turn
  FROM lane CROSS JOIN clock CROSS JOIN LATERAL (
    SELECT *
    FROM (
      SELECT false AS needs_place, q.due, q.job, q.origin, q.seq, q.partition, q.available_at
      FROM carillon.queue q
      WHERE q.route = lane.route AND q.holder IS NULL AND (q.places IS NULL OR q.slot >= 0)
        AND q.available_at >= lane.ready_from AND q.available_at <= clock.now + :ahead_ms
      ORDER BY q.available_at
      LIMIT :most
    ) at_hand
    UNION ALL
    SELECT *
    FROM (
      SELECT true, q.due, q.job, q.origin, q.seq, q.partition, q.available_at
      FROM (
        SELECT * FROM carillon.queue
        WHERE route = lane.route AND holder IS NULL AND places IS NOT NULL AND coalesce(slot, -1) < 0
          AND available_at >= lane.waiting_from AND available_at <= clock.now
        UNION ALL
        SELECT * FROM freed
        WHERE route = lane.route AND available_at < lane.waiting_from AND available_at <= clock.now
      ) q
      WHERE (SELECT count(*) FROM carillon.queue other
             WHERE other.job = q.job AND other.slot >= 0 AND other.slot < q.places) < q.places
        AND (q.version = 1
             OR (SELECT true FROM carillon.queue other
                 WHERE other.job = q.job AND other.version < q.version
                   AND (other.slot >= q.places
                        OR (other.slot IS NULL AND other.places IS NULL
                            AND (other.holder IS NOT NULL OR other.attempt = 1
                                 OR other.available_at <= clock.now)))
                 LIMIT 1) IS NULL)
      ORDER BY q.available_at
      LIMIT :most
    ) waiting
  ) seen
),
share AS MATERIALIZED (
  SELECT *
  FROM looked
  WHERE turn <= coalesce(room, :most)
  ORDER BY spent + (turn - 1)::float8 / weight, available_at, due, job, origin, seq
  LIMIT :most
),
ready AS MATERIALIZED (
  SELECT candidate.*
  FROM (
    SELECT route, min(available_at) AS first_at, count(*) AS runs FROM share WHERE NOT needs_place GROUP BY route
  ) lot
  CROSS JOIN clock
  CROSS JOIN LATERAL (
    SELECT q.due, q.job, q.origin, q.seq, q.partition, q.route, q.available_at, q.places, false AS needs_place
    FROM carillon.queue q
    WHERE q.route = lot.route AND q.holder IS NULL AND (q.places IS NULL OR q.slot >= 0)
      AND q.available_at >= lot.first_at AND q.available_at <= clock.now + :ahead_ms
    ORDER BY q.available_at
    LIMIT lot.runs
    FOR UPDATE OF q SKIP LOCKED
  ) candidate
),
waiting AS MATERIALIZED (
  SELECT q.due, q.job, q.origin, q.seq, q.partition, q.route, q.available_at, q.places, true AS needs_place
  FROM share
  JOIN carillon.queue q ON q.due = share.due AND q.job = share.job AND q.origin = share.origin AND q.seq = share.seq
    AND q.partition = share.partition
  WHERE share.needs_place AND q.holder IS NULL AND q.places IS NOT NULL AND coalesce(q.slot, -1) < 0
    AND q.available_at = share.available_at
  ORDER BY q.due, q.job, q.origin, q.seq
  FOR UPDATE OF q SKIP LOCKED
),
free AS MATERIALIZED (
  SELECT wanting.job, place.slot, row_number() OVER (PARTITION BY wanting.job ORDER BY place.slot) AS turn
  FROM (SELECT job, max(places) AS places, count(*) AS runs FROM waiting GROUP BY job) wanting
  CROSS JOIN LATERAL (
    SELECT every.slot
    FROM generate_series(0, wanting.places - 1) AS every (slot)
    WHERE (SELECT true FROM carillon.queue other
           WHERE other.job = wanting.job AND other.slot = every.slot LIMIT 1) IS NULL
    ORDER BY every.slot
    LIMIT wanting.runs
  ) place
),
placed AS MATERIALIZED (
  SELECT ready.*, NULL::int AS place FROM ready
  UNION ALL
  SELECT turned.due, turned.job, turned.origin, turned.seq, turned.partition, turned.route, turned.available_at,
         turned.places, true, free.slot
  FROM (
    SELECT *, row_number() OVER (PARTITION BY job ORDER BY available_at, due, origin, seq) AS turn FROM waiting
  ) turned
  JOIN free ON free.job = turned.job AND free.turn = turned.turn AND free.slot < turned.places
),
slots AS MATERIALIZED (
  SELECT s.tenant, s.capacity - s.taken AS room
  FROM carillon.tenant_slots s
  WHERE s.tenant IN (SELECT lane.tenant FROM placed JOIN lane ON lane.route = placed.route)
  ORDER BY s.tenant
  FOR UPDATE OF s
),
chosen AS MATERIALIZED (
  SELECT turned.*, turned.spent + (turned.turn - 1)::float8 / turned.weight AS cost_from
  FROM (
    SELECT placed.*, lane.tenant, lane.weight, lane.spent,
           row_number() OVER (
             PARTITION BY lane.tenant
             ORDER BY placed.available_at > clock.now, placed.available_at - lane.priority * :step_ms, placed.available_at
           ) AS turn
    FROM placed JOIN lane ON lane.route = placed.route CROSS JOIN clock
  ) turned
  LEFT JOIN slots ON slots.tenant = turned.tenant
  WHERE slots.room IS NULL OR turned.turn <= slots.room
),
taken AS (
  UPDATE carillon.tenant_slots s
  SET taken = s.taken + lot.runs
  FROM (SELECT tenant, count(*) AS runs FROM chosen GROUP BY tenant) lot
  WHERE s.tenant = lot.tenant AND s.tenant IN (SELECT tenant FROM slots)
),
leased AS (
  UPDATE carillon.queue q
  SET holder = :holder,
      token = clock.timeline_base + nextval('carillon.tokens'),
      leased_at = clock.now,
      slot = coalesce(chosen.place, q.slot),
      deadline = CASE WHEN :tenant IS NOT NULL THEN clock.now + 1000 * coalesce((
        SELECT (CASE WHEN j.version = q.version THEN j.definition ELSE old.definition END ->> 'timeout_seconds')::bigint
        FROM carillon.jobs j
        LEFT JOIN carillon.job_versions old ON old.job = j.job AND old.version = q.version
        WHERE j.job = q.job), 0) END
  FROM chosen CROSS JOIN clock
  WHERE q.due = chosen.due AND q.job = chosen.job AND q.origin = chosen.origin AND q.seq = chosen.seq
    AND q.partition = chosen.partition
  RETURNING q.due, q.job, q.origin, q.seq, q.partition, q.tenant, q.version, q.epoch, q.attempt,
            q.max_attempts, q.round, q.available_at, q.fired_at, q.token, q.holder, q.catch_up,
            q.payload::text AS payload, chosen.tenant AS payer, chosen.cost_from, chosen.weight
)
SELECT clock.now, leased.*,
       CASE WHEN row_number() OVER () = 1 THEN (
         SELECT coalesce(jsonb_agg(seen), '[]')
         FROM (SELECT route, min(available_at) FILTER (WHERE NOT needs_place) AS ready,
                      min(available_at) FILTER (WHERE needs_place) AS waiting
               FROM looked GROUP BY route) seen
       ) END AS lanes
FROM clock LEFT JOIN leased ON true
