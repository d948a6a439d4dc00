-- Leases runs that this worker can serve and that start within `ahead_ms`, earliest first, each with a new token.
--
-- me      The worker's own row, FOR KEY SHARE: declaring it dead waits for this lease, so no lease can follow a death.
-- ready   SKIP LOCKED in a materialized CTE: IN (SELECT … LIMIT … SKIP LOCKED) may lock more than its limit.
--         A run that gave its overlap place back (it waits for a retry) is taken only while the place is free, and one
--         per job: the unique index has the last word, and a race with a fire fails the statement, to be repeated.
-- The look for a taken place is a subquery with LIMIT, which is one probe per row; NOT EXISTS inside OR would be hashed
-- over the whole queue.
-- Index: queue_ready (route, available_at), one range per route; queue_slot for the place.
-- Lock order: incarnations, queue.
-- @plan each-time
-- @param holder bigint
-- @param tasks text[]
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
),
ready AS MATERIALIZED (
  SELECT candidate.*
  FROM me CROSS JOIN clock CROSS JOIN served CROSS JOIN LATERAL (
    SELECT q.due, q.job, q.origin, q.seq, q.partition, q.available_at,
           q.places IS NOT NULL AND q.slot IS NULL AS needs_place
    FROM carillon.queue q
    WHERE q.route = served.route AND q.holder IS NULL AND q.available_at <= clock.now + :ahead_ms
      AND (q.places IS NULL OR q.slot IS NOT NULL
           OR (SELECT true FROM carillon.queue other WHERE other.job = q.job AND other.slot = 0 LIMIT 1) IS NULL)
    ORDER BY q.available_at
    LIMIT :most
    FOR UPDATE OF q SKIP LOCKED
  ) candidate
  ORDER BY candidate.available_at
  LIMIT :most
),
chosen AS MATERIALIZED (
  SELECT *, row_number() OVER (PARTITION BY job, needs_place ORDER BY due, seq) AS turn FROM ready
)
UPDATE carillon.queue q
SET holder = :holder,
    token = clock.timeline_base + nextval('carillon.tokens'),
    leased_at = clock.now,
    slot = CASE WHEN chosen.needs_place THEN 0 ELSE q.slot END
FROM chosen CROSS JOIN clock
WHERE q.due = chosen.due AND q.job = chosen.job AND q.origin = chosen.origin AND q.seq = chosen.seq
  AND q.partition = chosen.partition
  AND (NOT chosen.needs_place OR chosen.turn = 1)
RETURNING q.due, q.job, q.origin, q.seq, q.partition, q.tenant, q.version, q.epoch, q.attempt,
          q.max_attempts, q.available_at, q.token, q.holder, q.catch_up, clock.now
