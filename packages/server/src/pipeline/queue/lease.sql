-- Leases runs that this worker can serve and that start within `ahead_ms`, in fair order, each with a new token.
--
-- me       The worker's own row, FOR KEY SHARE: declaring it dead waits for this lease, so no lease can follow a death.
-- lane     The routes in which lanes.sql found something. `spent`: the tenant's account, in runs by weight, as this worker
--          keeps it. A tenant that had nothing to run begins at `virtual`, where the others are: it has saved nothing up.
--          The caller knows from where on each lane has runs: below that lie entries of runs that are gone, which stay as
--          long as any old transaction is open. A lane whose host has limits or an open breaker (`guarded`) takes part with
--          as much as the host has room for, and with nothing ahead of its time: so its rate holds for starts.
-- looked   What could be leased, at most `depth` of a lane: a plain look. Inside a tenant what is due comes before what is
--          not, then each step of priority counts as `step_ms` of waiting: the lowest goes before the highest once it
--          has waited so much longer.
--          A run in the waiting place (slot -1), or that gave its place back for the time until its retry (slot NULL, with
--          places), needs a running place. It takes one at its own time, never ahead of it: a place held by a run that
--          may not start yet would make a tick in between an overlap with nothing. And only while one of its job's
--          places is free and no run of an older version goes on outside them: an edit that narrows counts for the
--          waiting too. An older run without limit that waits for its retry is not going on. Of `freed` jobs, which just
--          gave back a place, all that wait are looked at, wherever they lie.
-- share    Round robin by weight: each run costs its tenant 1/weight, the smallest account goes first. A tenant with a cap
--          takes part with as much as is free. What its host holds back costs a tenant nothing.
-- ready    As many of each lane as its share. SKIP LOCKED in a materialized CTE: IN (SELECT … LIMIT … SKIP LOCKED) may
--          lock more than its limit. No more is locked than is leased: other workers would pass over the rest.
-- free     The lowest free places of each job that wants some, as many as are wanted.
-- placed   The oldest of a job takes the lowest place. What is left over waits for the next pass. So does a row that somebody
--          changed since this statement's snapshot: it lies elsewhere than the snapshot sees it. The others are written to
--          by their place; a join by key may be planned as a walk through the whole index (close.sql).
-- slots    Tenants with a cap, locked. After a wait Postgres reads the row again, so that `taken` counts every lease
--          before this one; counting the queue would count those of the snapshot.
-- guards   The rows of hosts with limits, locked for the same reason, after the tenants.
-- chosen   What fits under the limits of its host and the cap of its tenant.
-- passed   Takes it out of the buckets and counts it. Where a breaker is open and its time has come, the one run that passes is
--          the probe.
-- A worker over HTTP (`remote`) gets a deadline with each: the timeout of the job, which nobody else would keep. Its lanes are
-- those of its own tasks: whoever asks chose them.
-- The unique index has the last word: a race with a fire or a trigger fails the statement, to be repeated.
-- The looks for places are subqueries with LIMIT or an aggregate, which is one probe per row; NOT EXISTS inside OR would
-- be hashed over the whole queue.
-- The answer has at least one row, the first with all lanes that had runs and their first instants.
-- Index: queue_ready and queue_waiting (route, available_at), one range per lane; queue_slot for the places.
-- Lock order: incarnations, queue, tenant_slots, targets.
-- @plan each-time
-- @param holder bigint
-- @param remote boolean
-- @param ahead_ms bigint
-- @param step_ms bigint
-- @param most int
-- @param depth int
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
         greatest(account.spent, :virtual) AS spent, known.ready_from, known.waiting_from, guard.timeout_seconds,
         CASE WHEN carillon.target_limits(guard) THEN guard.host END AS guarded,
         CASE WHEN carillon.target_limits(guard) THEN carillon.target_room(guard, clock.now) END AS host_room,
         CASE WHEN carillon.target_limits(guard) THEN clock.now ELSE clock.now + :ahead_ms END AS until
  FROM me
  CROSS JOIN clock
  CROSS JOIN unnest(:routes, :ready_froms, :waiting_froms) AS known (route, ready_from, waiting_from)
  JOIN carillon.routes r ON r.route = known.route
  JOIN carillon.tenants t ON t.tenant = r.tenant
  LEFT JOIN carillon.tenant_slots s ON s.tenant = r.tenant
  LEFT JOIN carillon.targets guard ON r.kind = 'http' AND guard.tenant = r.tenant AND guard.host = r.name
  LEFT JOIN unnest(:tenants, :accounts) AS account (tenant, spent) ON account.tenant = r.tenant
),
freed AS MATERIALIZED (
  SELECT *
  FROM carillon.queue
  WHERE job = ANY (:freed) AND holder IS NULL AND places IS NOT NULL AND coalesce(slot, -1) < 0
),
looked AS MATERIALIZED (
  SELECT lane.route, lane.tenant, lane.weight, lane.spent, lane.room, lane.host_room, seen.*,
         seen.available_at > clock.now AS early, seen.available_at - lane.priority * :step_ms AS rank,
         row_number() OVER (
           PARTITION BY lane.tenant, lane.guarded
           ORDER BY seen.available_at > clock.now, seen.available_at - lane.priority * :step_ms, seen.available_at
         ) AS host_turn
  FROM lane CROSS JOIN clock CROSS JOIN LATERAL (
    SELECT *
    FROM (
      SELECT false AS needs_place, q.due, q.job, q.origin, q.seq, q.partition, q.available_at
      FROM carillon.queue q
      WHERE q.route = lane.route AND q.holder IS NULL AND (q.places IS NULL OR q.slot >= 0)
        AND q.available_at >= lane.ready_from AND q.available_at <= lane.until
      ORDER BY q.available_at
      LIMIT least(:depth, lane.host_room)
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
                            AND (other.holder IS NOT NULL
                                 OR (other.round = 0 AND (other.attempt = 1 OR other.available_at <= clock.now)))))
                 LIMIT 1) IS NULL)
      ORDER BY q.available_at
      LIMIT least(:depth, lane.host_room)
    ) waiting
  ) seen
),
share AS MATERIALIZED (
  SELECT *
  FROM (
    SELECT *, row_number() OVER (PARTITION BY tenant ORDER BY early, rank, available_at) AS turn
    FROM looked
    WHERE host_room IS NULL OR host_turn <= host_room
  ) turned
  WHERE turn <= coalesce(room, :most)
  ORDER BY spent + (turn - 1)::float8 / weight, available_at, due, job, origin, seq
  LIMIT :most
),
ready AS MATERIALIZED (
  SELECT candidate.*
  FROM (
    SELECT route, min(available_at) AS first_at, count(*) AS runs FROM share WHERE NOT needs_place GROUP BY route
  ) lot
  JOIN lane ON lane.route = lot.route
  CROSS JOIN LATERAL (
    SELECT q.ctid AS lies, q.due, q.job, q.origin, q.seq, q.partition, q.route, q.available_at, q.places,
           false AS needs_place
    FROM carillon.queue q
    WHERE q.route = lot.route AND q.holder IS NULL AND (q.places IS NULL OR q.slot >= 0)
      AND q.available_at >= lot.first_at AND q.available_at <= lane.until
    ORDER BY q.available_at
    LIMIT lot.runs
    FOR UPDATE OF q SKIP LOCKED
  ) candidate
),
waiting AS MATERIALIZED (
  SELECT q.lies, q.due, q.job, q.origin, q.seq, q.partition, q.route, q.available_at, q.places, true AS needs_place
  FROM (SELECT * FROM share WHERE needs_place ORDER BY due, job, origin, seq) share
  CROSS JOIN LATERAL (
    SELECT q.ctid AS lies, q.*
    FROM carillon.queue q
    WHERE q.job = share.job AND q.due = share.due AND q.origin = share.origin AND q.seq = share.seq
      AND q.partition = share.partition AND q.holder IS NULL AND q.places IS NOT NULL AND coalesce(q.slot, -1) < 0
      AND q.available_at = share.available_at
    LIMIT 1
    FOR UPDATE OF q SKIP LOCKED
  ) q
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
  SELECT here.*
  FROM (
    SELECT ready.*, NULL::int AS place FROM ready
    UNION ALL
    SELECT turned.lies, turned.due, turned.job, turned.origin, turned.seq, turned.partition, turned.route,
           turned.available_at, turned.places, true, free.slot
    FROM (
      SELECT *, row_number() OVER (PARTITION BY job ORDER BY available_at, due, origin, seq) AS turn FROM waiting
    ) turned
    JOIN free ON free.job = turned.job AND free.turn = turned.turn AND free.slot < turned.places
  ) here
  WHERE (SELECT true FROM carillon.queue q WHERE q.ctid = here.lies)
),
slots AS MATERIALIZED (
  SELECT s.tenant, s.capacity - s.taken AS room
  FROM carillon.tenant_slots s
  WHERE s.tenant IN (SELECT lane.tenant FROM placed JOIN lane ON lane.route = placed.route)
  ORDER BY s.tenant
  FOR UPDATE OF s
),
guards AS MATERIALIZED (
  SELECT t.tenant, t.host, carillon.target_room(t, clock.now) AS room, (carillon.target_bucket(t, clock.now)).tokens,
         t.state IN ('open', 'half_open') AS probing
  FROM carillon.targets t CROSS JOIN clock
  WHERE (t.tenant, t.host) IN (
      SELECT lane.tenant, lane.guarded FROM placed JOIN lane ON lane.route = placed.route WHERE lane.guarded IS NOT NULL)
    AND (SELECT count(*) FROM slots) >= 0
  ORDER BY t.tenant, t.host
  FOR UPDATE OF t
),
chosen AS MATERIALIZED (
  SELECT turned.*, turned.spent + (turned.turn - 1)::float8 / turned.weight AS cost_from
  FROM (
    SELECT hosted.*, coalesce(guards.probing, false) AS probe,
           row_number() OVER (
             PARTITION BY hosted.tenant ORDER BY hosted.early, hosted.rank, hosted.available_at
           ) AS turn
    FROM (
      SELECT placed.*, lane.tenant, lane.weight, lane.spent, lane.guarded, lane.timeout_seconds,
             placed.available_at > clock.now AS early, placed.available_at - lane.priority * :step_ms AS rank,
             row_number() OVER (
               PARTITION BY lane.tenant, lane.guarded
               ORDER BY placed.available_at > clock.now, placed.available_at - lane.priority * :step_ms,
                        placed.available_at
             ) AS host_turn
      FROM placed JOIN lane ON lane.route = placed.route CROSS JOIN clock
    ) hosted
    LEFT JOIN guards ON guards.tenant = hosted.tenant AND guards.host = hosted.guarded
    WHERE guards.room IS NULL OR hosted.host_turn <= guards.room
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
      deadline = CASE WHEN :remote THEN clock.now + 1000 * coalesce((
        SELECT (('{"timeout_seconds": 300}' || CASE WHEN j.version = q.version THEN j.definition ELSE old.definition END)
                  ->> 'timeout_seconds')::bigint
        FROM carillon.jobs j
        LEFT JOIN carillon.job_versions old ON old.job = j.job AND old.version = q.version
        WHERE j.job = q.job), 0) END
  FROM chosen CROSS JOIN clock
  WHERE q.ctid = ANY (ARRAY(SELECT lies FROM chosen)) AND q.ctid = chosen.lies
  RETURNING q.ctid AS lies, q.due, q.job, q.origin, q.seq, q.partition, q.tenant, q.version, q.epoch, q.attempt,
            q.max_attempts, q.round, q.available_at, q.fired_at, q.token, q.holder, q.catch_up,
            q.payload::text AS payload, chosen.tenant AS payer, chosen.cost_from, chosen.weight, chosen.guarded,
            chosen.timeout_seconds, chosen.probe
),
passed AS (
  UPDATE carillon.targets t
  SET tokens = coalesce(guards.tokens - lot.runs, t.tokens),
      tokens_at = CASE WHEN guards.tokens IS NULL THEN t.tokens_at ELSE greatest(t.tokens_at, clock.now) END,
      in_use = CASE WHEN t.max_concurrent IS NULL THEN t.in_use ELSE t.in_use + lot.runs END,
      state = CASE WHEN guards.probing THEN 'half_open' ELSE t.state END,
      since = CASE WHEN guards.probing AND t.state = 'open' THEN clock.now ELSE t.since END,
      probe_at = CASE WHEN guards.probing THEN clock.now END,
      probe_due = CASE WHEN guards.probing THEN lot.due END,
      probe_job = CASE WHEN guards.probing THEN lot.job END,
      probe_token = CASE WHEN guards.probing THEN lot.token END
  FROM (
    SELECT payer, guarded, count(*) AS runs, min(due) AS due, min(job) AS job, min(token) AS token
    FROM leased
    WHERE guarded IS NOT NULL
    GROUP BY payer, guarded
  ) lot
  JOIN guards ON guards.tenant = lot.payer AND guards.host = lot.guarded
  CROSS JOIN clock
  WHERE t.tenant = lot.payer AND t.host = lot.guarded
)
SELECT clock.now, leased.*,
       CASE WHEN row_number() OVER () = 1 THEN (
         SELECT coalesce(jsonb_agg(seen), '[]')
         FROM (SELECT route, min(available_at) FILTER (WHERE NOT needs_place) AS ready,
                      min(available_at) FILTER (WHERE needs_place) AS waiting,
                      greatest(count(*) FILTER (WHERE NOT needs_place), count(*) FILTER (WHERE needs_place)) AS runs
               FROM looked GROUP BY route) seen
       ) END AS lanes
FROM clock LEFT JOIN leased ON true
