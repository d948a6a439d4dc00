-- Leases runs that this worker can serve and that start within `ahead_ms`, earliest first, each with a new token.
--
-- me      The worker's own row, FOR KEY SHARE: declaring it dead waits for this lease, so no lease can follow a death.
-- ready   SKIP LOCKED in a materialized CTE: IN (SELECT … LIMIT … SKIP LOCKED) may lock more than its limit.
--         A run in the waiting place (slot -1), or that gave its place back for the time until its retry (slot NULL, with
--         places), needs a running place. It takes one at its own time, never ahead of it: a place held by a run that
--         may not start yet would make a tick in between an overlap with nothing. And only while one of its job's
--         places is free and no run of an older version goes on outside them: an edit that narrows counts for the
--         waiting too. An older run without limit that waits for its retry is not going on.
-- free    The lowest free places of each job that wants some, as many as are wanted.
-- chosen  The oldest of a job takes the lowest place. What is left over waits for the next pass.
-- The unique index has the last word: a race with a fire or a trigger fails the statement, to be repeated.
-- The looks for places are subqueries with LIMIT or an aggregate, which is one probe per row; NOT EXISTS inside OR would
-- be hashed over the whole queue.
-- Index: queue_ready (route, available_at), one range per route; queue_slot for the places.
-- Lock order: incarnations, queue.
-- @plan each-time
-- @param holder bigint
-- @param tasks text[]
-- @param commands boolean
-- @param ahead_ms bigint
-- @param most int
WITH clock AS MATERIALIZED (
  SELECT carillon.now_ms() AS now, carillon.timeline_base() AS timeline_base
),
me AS MATERIALIZED (
  SELECT incarnation FROM carillon.incarnations
  WHERE incarnation = :holder AND state = 'alive'
  FOR KEY SHARE
),
served AS MATERIALIZED (
  SELECT route FROM carillon.routes WHERE kind = 'http' OR (kind = 'task' AND name = ANY (:tasks))
     OR (kind = 'command' AND :commands)
),
ready AS MATERIALIZED (
  SELECT candidate.*
  FROM me CROSS JOIN clock CROSS JOIN served CROSS JOIN LATERAL (
    SELECT q.due, q.job, q.origin, q.seq, q.partition, q.available_at, q.places,
           q.places IS NOT NULL AND coalesce(q.slot, -1) < 0 AS needs_place
    FROM carillon.queue q
    WHERE q.route = served.route AND q.holder IS NULL AND q.available_at <= clock.now + :ahead_ms
      AND (q.places IS NULL OR q.slot >= 0
           OR (q.available_at <= clock.now
               AND (SELECT count(*) FROM carillon.queue other
                    WHERE other.job = q.job AND other.slot >= 0 AND other.slot < q.places) < q.places
               AND (q.version = 1
                    OR (SELECT true FROM carillon.queue other
                        WHERE other.job = q.job AND other.version < q.version
                          AND (other.slot >= q.places
                               OR (other.slot IS NULL AND other.places IS NULL
                                   AND (other.holder IS NOT NULL OR other.attempt = 1
                                        OR other.available_at <= clock.now)))
                        LIMIT 1) IS NULL)))
    ORDER BY q.available_at
    LIMIT :most
    FOR UPDATE OF q SKIP LOCKED
  ) candidate
  ORDER BY candidate.available_at
  LIMIT :most
),
free AS MATERIALIZED (
  SELECT wanting.job, place.slot, row_number() OVER (PARTITION BY wanting.job ORDER BY place.slot) AS turn
  FROM (SELECT job, max(places) AS places, count(*) AS runs FROM ready WHERE needs_place GROUP BY job) wanting
  CROSS JOIN LATERAL (
    SELECT every.slot
    FROM generate_series(0, wanting.places - 1) AS every (slot)
    WHERE (SELECT true FROM carillon.queue other
           WHERE other.job = wanting.job AND other.slot = every.slot LIMIT 1) IS NULL
    ORDER BY every.slot
    LIMIT wanting.runs
  ) place
),
turned AS MATERIALIZED (
  SELECT *, row_number() OVER (PARTITION BY job, needs_place ORDER BY available_at, due, origin, seq) AS turn
  FROM ready
),
chosen AS MATERIALIZED (
  SELECT turned.*, free.slot AS place
  FROM turned
  LEFT JOIN free ON turned.needs_place AND free.job = turned.job AND free.turn = turned.turn
  WHERE NOT turned.needs_place OR free.slot < turned.places
)
UPDATE carillon.queue q
SET holder = :holder,
    token = clock.timeline_base + nextval('carillon.tokens'),
    leased_at = clock.now,
    slot = coalesce(chosen.place, q.slot)
FROM chosen CROSS JOIN clock
WHERE q.due = chosen.due AND q.job = chosen.job AND q.origin = chosen.origin AND q.seq = chosen.seq
  AND q.partition = chosen.partition
RETURNING q.due, q.job, q.origin, q.seq, q.partition, q.tenant, q.version, q.epoch, q.attempt,
          q.max_attempts, q.available_at, q.token, q.holder, q.catch_up, clock.now
