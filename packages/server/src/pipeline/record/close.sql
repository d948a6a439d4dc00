-- Closes attempts: fenced delete (or the next attempt) and ledger row, one statement for many.
--
-- result   One per token: a result that is in the batch twice must not be noted twice.
-- held     Runs still leased to this worker with this token. At most once comes from here: a closed or re-leased run
--          matches no more. FOR UPDATE waits for a rescuer; the token is checked again after the wait.
--          Looked for by subqueries with LIMIT, which is one probe of the key per row whatever the planner thinks. What it
--          knows of the queue is from some moment, often one when it was empty; a join by key it then plans as a walk
--          through the whole index, past every entry that an old transaction keeps. Written to by place for the same
--          reason: where the snapshot sees the row (`seen`) and where it lies since it is locked (`place`); they differ
--          after a wait. `+ 0` keeps the join that follows from being taken for a look into the index, by whichever of its columns.
-- again    A retry: the next attempt waits for its time and gives its overlap place back, so that it never holds up the
--          next tick. Not where cancelling was asked for; and nobody wants a dead letter of that.
-- job      Where its job is paused, a retry is parked until the job is resumed. FOR SHARE, after the runs: a pause or resume
--          that this statement waited for is not in its snapshot, and only a lock that conflicts with theirs reads the job
--          again. A stale 'paused' would park a run that nobody resumes any more. (FOR KEY SHARE would lock the old row.)
-- slots    The places of tenants with a cap, for attempts that ended here; `hosts` those of hosts with one.
-- A result whose lease is gone is not in the answer: note-stale.sql says what it was.
-- Lock order: queue, jobs, tenant_slots, targets; each by key. Index: queue, jobs and dead_letters primary keys. The ledger is only appended to: reading it here
-- would lock every one of its partitions.
-- @plan each-time
-- @param holder bigint
-- @param parked_until bigint
-- @param dues bigint[]
-- @param jobs bigint[]
-- @param origins smallint[]
-- @param seqs int[]
-- @param partitions smallint[]
-- @param tokens bigint[]
-- @param outcomes text[]
-- @param retry_ats bigint[]
-- @param started_ats bigint[]
-- @param finished_ats bigint[]
-- @param reasons text[]
-- @param errors text[]
-- @param results text[]
WITH clock AS MATERIALIZED (
  SELECT carillon.now_ms() AS now
),
result AS MATERIALIZED (
  SELECT DISTINCT ON (token) *
  FROM unnest(:dues, :jobs, :origins, :seqs, :partitions, :tokens, :outcomes, :retry_ats, :started_ats,
              :finished_ats, :reasons, :errors, :results)
    AS r (due, job, origin, seq, partition, token, outcome, retry_at, started_at,
          finished_at, reason, error, result)
),
held AS MATERIALIZED (
  SELECT seen.place AS seen, q.place, q.due, q.job, q.origin, q.seq, q.partition, q.token, q.tenant, q.route, q.version, q.epoch, q.next_due,
         q.places, q.attempt, q.max_attempts, q.round, q.available_at, q.fired_at, q.leased_at, q.catch_up, q.payload,
         CASE WHEN q.cancel_requested AND r.outcome = 'dead' THEN 'failed' ELSE r.outcome END AS outcome,
         r.started_at, r.finished_at, r.reason, r.error, r.result::jsonb AS result, r.retry_at,
         r.retry_at IS NULL OR q.cancel_requested AS final
  FROM (SELECT * FROM result ORDER BY due, job, origin, seq) r
  CROSS JOIN LATERAL (
    SELECT q.ctid AS place FROM carillon.queue q
    WHERE q.job = r.job AND q.due = r.due AND q.origin = r.origin AND q.seq = r.seq AND q.partition = r.partition
    LIMIT 1
  ) seen
  CROSS JOIN LATERAL (
    SELECT q.ctid AS place, q.* FROM carillon.queue q
    WHERE q.job = r.job AND q.due = r.due AND q.origin = r.origin AND q.seq = r.seq AND q.partition = r.partition
      AND q.token = r.token AND q.holder = :holder
    LIMIT 1
    FOR UPDATE OF q
  ) q
),
job AS MATERIALIZED (
  SELECT retrying.job, j.state
  FROM (SELECT DISTINCT held.job FROM held WHERE NOT held.final AND held.origin = 0 ORDER BY held.job) retrying
  CROSS JOIN LATERAL (SELECT state FROM carillon.jobs WHERE jobs.job = retrying.job FOR SHARE) j
),
again AS (
  UPDATE carillon.queue q
  SET attempt = held.attempt + 1, slot = NULL,
      available_at = CASE WHEN job.state = 'paused' THEN :parked_until ELSE held.retry_at END,
      holder = NULL, token = NULL, leased_at = NULL, last_error = held.error
  FROM held LEFT JOIN job ON job.job = held.job AND held.origin = 0
  WHERE NOT held.final AND q.ctid = ANY (ARRAY(SELECT unnest(ARRAY[seen, place]) FROM held WHERE NOT final))
    AND q.due + 0 = held.due AND q.job + 0 = held.job AND q.origin + 0 = held.origin AND q.seq + 0 = held.seq
    AND q.partition + 0 = held.partition
),
gone AS (
  DELETE FROM carillon.queue
  WHERE ctid = ANY (ARRAY(SELECT unnest(ARRAY[seen, place]) FROM held WHERE final))
),
capped AS MATERIALIZED (
  SELECT tenant FROM carillon.tenant_slots WHERE tenant IN (SELECT tenant FROM held) ORDER BY tenant FOR UPDATE
),
slots AS (
  UPDATE carillon.tenant_slots s
  SET taken = greatest(s.taken - ended.runs, 0)
  FROM (SELECT held.tenant, count(*) AS runs FROM held JOIN capped USING (tenant) GROUP BY held.tenant) ended
  WHERE s.tenant = ended.tenant
),
counted AS MATERIALIZED (
  SELECT tenant, host
  FROM carillon.targets
  WHERE max_concurrent IS NOT NULL AND (SELECT count(*) FROM capped) >= 0
    AND (tenant, host) IN (
      SELECT r.tenant, r.name FROM held JOIN carillon.routes r ON r.route = held.route WHERE r.kind = 'http')
  ORDER BY tenant, host
  FOR UPDATE
),
hosts AS (
  UPDATE carillon.targets t
  SET in_use = greatest(t.in_use - ended.runs, 0)
  FROM (
    SELECT counted.tenant, counted.host, count(*) AS runs
    FROM held
    JOIN carillon.routes r ON r.route = held.route AND r.kind = 'http'
    JOIN counted ON counted.tenant = r.tenant AND counted.host = r.name
    GROUP BY counted.tenant, counted.host
  ) ended
  WHERE t.tenant = ended.tenant AND t.host = ended.host
),
dead AS (
  INSERT INTO carillon.dead_letters (due, job, origin, seq, tenant, route, version, epoch, next_due, places, attempts,
                                     max_attempts, round, catch_up, reason, error, result, payload, dead_at, partition)
  SELECT due, job, origin, seq, tenant, route, version, epoch, next_due, places, attempt,
         max_attempts, round, catch_up, coalesce(reason, 'failed'), error, result, payload, clock.now, partition
  FROM held CROSS JOIN clock
  WHERE held.final AND held.outcome = 'dead'
),
noted AS (
  INSERT INTO carillon.ledger (recorded_at, tenant, job, due, origin, seq, outcome, final, round, attempt,
                               max_attempts, version, epoch, next_due, token, worker, catch_up, available_at, fired_at,
                               leased_at, started_at, finished_at, reason, error, result, partition)
  SELECT clock.now, tenant, job, due, origin, seq, outcome::carillon.outcome, final, round, attempt,
         max_attempts, version, epoch, next_due, token, :holder, catch_up, available_at, fired_at,
         leased_at, started_at, finished_at, reason, error, result, partition
  FROM held CROSS JOIN clock
)
SELECT token, CASE WHEN final THEN 'closed' ELSE 'retrying' END AS answer FROM held
