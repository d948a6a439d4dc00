-- Gives leased runs back that this worker will not finish: the attempt is not used up, the overlap place is kept. A run
-- that was asked to cancel ends here: nobody else would start it, and nobody else would end it. Where the job is paused, the
-- run is parked until it is resumed; the job is read FOR SHARE after its run is locked, for the reason that close.sql gives.
-- A tenant or a host with a cap gets its places back. Rows are found and written to as close.sql does it, and for its reason.
-- Fenced by holder and token. Lock order: queue, jobs, tenant_slots, targets; each by key. Index: primary keys.
-- @plan each-time
-- @param holder bigint
-- @param parked_until bigint
-- @param dues bigint[]
-- @param jobs bigint[]
-- @param origins smallint[]
-- @param seqs int[]
-- @param partitions smallint[]
-- @param tokens bigint[]
WITH named AS MATERIALIZED (
  SELECT *
  FROM unnest(:dues, :jobs, :origins, :seqs, :partitions, :tokens) AS r (due, job, origin, seq, partition, token)
  ORDER BY due, job, origin, seq
),
mine AS MATERIALIZED (
  SELECT seen.place AS seen, q.*
  FROM named r
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
  SELECT back.job, j.state
  FROM (SELECT DISTINCT mine.job FROM mine WHERE NOT mine.cancel_requested AND mine.origin = 0 ORDER BY mine.job) back
  CROSS JOIN LATERAL (SELECT state FROM carillon.jobs WHERE jobs.job = back.job FOR SHARE) j
),
given AS (
  UPDATE carillon.queue q
  SET holder = NULL, token = NULL, leased_at = NULL,
      available_at = CASE WHEN job.state = 'paused' THEN :parked_until ELSE q.available_at END,
      slot = CASE WHEN job.state IS DISTINCT FROM 'paused' THEN q.slot END
  FROM mine LEFT JOIN job ON job.job = mine.job AND mine.origin = 0
  WHERE NOT mine.cancel_requested AND q.ctid = ANY (ARRAY(SELECT unnest(ARRAY[seen, place]) FROM mine WHERE NOT cancel_requested))
    AND q.due + 0 = mine.due AND q.job + 0 = mine.job AND q.origin + 0 = mine.origin
    AND q.seq + 0 = mine.seq AND q.partition + 0 = mine.partition
),
gone AS (
  DELETE FROM carillon.queue
  WHERE ctid = ANY (ARRAY(SELECT unnest(ARRAY[seen, place]) FROM mine WHERE cancel_requested))
),
capped AS MATERIALIZED (
  SELECT tenant FROM carillon.tenant_slots WHERE tenant IN (SELECT tenant FROM mine) ORDER BY tenant FOR UPDATE
),
slots AS (
  UPDATE carillon.tenant_slots s
  SET taken = greatest(s.taken - ended.runs, 0)
  FROM (SELECT mine.tenant, count(*) AS runs FROM mine JOIN capped USING (tenant) GROUP BY mine.tenant) ended
  WHERE s.tenant = ended.tenant
),
counted AS MATERIALIZED (
  SELECT tenant, host
  FROM carillon.targets
  WHERE max_concurrent IS NOT NULL AND (SELECT count(*) FROM capped) >= 0
    AND (tenant, host) IN (
      SELECT r.tenant, r.name FROM mine JOIN carillon.routes r ON r.route = mine.route WHERE r.kind = 'http')
  ORDER BY tenant, host
  FOR UPDATE
),
hosts AS (
  UPDATE carillon.targets t
  SET in_use = greatest(t.in_use - ended.runs, 0)
  FROM (
    SELECT counted.tenant, counted.host, count(*) AS runs
    FROM mine
    JOIN carillon.routes r ON r.route = mine.route AND r.kind = 'http'
    JOIN counted ON counted.tenant = r.tenant AND counted.host = r.name
    GROUP BY counted.tenant, counted.host
  ) ended
  WHERE t.tenant = ended.tenant AND t.host = ended.host
),
noted AS (
  INSERT INTO carillon.ledger (recorded_at, tenant, job, due, origin, seq, outcome, final, round, attempt,
                               max_attempts, version, epoch, next_due, token, worker, catch_up, available_at, fired_at,
                               leased_at, reason, error, partition)
  SELECT carillon.now_ms(), tenant, job, due, origin, seq, 'cancelled', true, round, attempt,
         max_attempts, version, epoch, next_due, token, holder, catch_up, available_at, fired_at,
         leased_at, 'cancel_requested', last_error, partition
  FROM mine
  WHERE cancel_requested
)
SELECT job FROM mine
