-- Takes back the runs of a process that is dead or has left. Never of a live one: the state is checked here, and a dead
-- process stays dead, so a slow but living run is never doubled. Declaring it dead waited for its leases in progress
-- (key-share on its row), so nothing new can come under its name.
--
-- A run whose time had not come was not started: it is only given back. Of the others the attempt counts as lost: a
-- ledger row, then the next attempt at once, or a dead letter when none is left or the job must never run twice (`on_lost`). The overlap place is kept. Where the job
-- is paused, the run is parked until it is resumed; the job is read FOR SHARE after its run is locked, for the reason that
-- close.sql gives. A run that was asked to cancel ends here in any case: its holder, who would have ended it, is gone.
-- Lock order: queue by key, SKIP LOCKED (a close in progress may still win), jobs by key, tenant_slots, targets. Scans the queue once per death.
-- A tenant or a host with a cap gets its places back. Of a worker over HTTP every run has a deadline: index queue_remote.
-- @plan each-time
-- @param incarnation bigint
-- @param remote boolean
-- @param most int
-- @param parked_until bigint
WITH clock AS MATERIALIZED (
  SELECT carillon.now_ms() AS now
),
orphan AS MATERIALIZED (
  SELECT q.*, q.available_at <= clock.now AS begun,
         q.cancel_requested OR (q.available_at <= clock.now AND (q.attempt >= q.max_attempts OR (
           SELECT CASE WHEN j.version = q.version THEN j.definition ELSE old.definition END ->> 'on_lost' IS NOT DISTINCT FROM 'fail'
           FROM carillon.jobs j
           LEFT JOIN carillon.job_versions old ON old.job = j.job AND old.version = q.version
           WHERE j.job = q.job))) AS final
  FROM carillon.queue q CROSS JOIN clock
  WHERE q.holder = :incarnation AND (NOT :remote OR q.deadline IS NOT NULL)
    AND EXISTS (SELECT FROM carillon.incarnations i WHERE i.incarnation = :incarnation AND i.state <> 'alive')
  ORDER BY q.due, q.job, q.origin, q.seq
  LIMIT :most
  FOR UPDATE OF q SKIP LOCKED
),
job AS MATERIALIZED (
  SELECT again.job, j.state
  FROM (SELECT DISTINCT orphan.job FROM orphan WHERE NOT orphan.final AND orphan.origin = 0 ORDER BY orphan.job) again
  CROSS JOIN LATERAL (SELECT state FROM carillon.jobs WHERE jobs.job = again.job FOR SHARE) j
),
again AS (
  UPDATE carillon.queue q
  SET holder = NULL, token = NULL, leased_at = NULL,
      available_at = CASE WHEN job.state = 'paused' THEN :parked_until ELSE orphan.available_at END,
      slot = CASE WHEN job.state IS DISTINCT FROM 'paused' THEN q.slot END,
      attempt = CASE WHEN orphan.begun THEN orphan.attempt + 1 ELSE orphan.attempt END,
      last_error = CASE WHEN orphan.begun THEN 'the worker that ran it is gone' ELSE orphan.last_error END
  FROM orphan LEFT JOIN job ON job.job = orphan.job AND orphan.origin = 0
  WHERE NOT orphan.final AND q.due = orphan.due AND q.job = orphan.job AND q.origin = orphan.origin
    AND q.seq = orphan.seq AND q.partition = orphan.partition
),
gone AS (
  DELETE FROM carillon.queue q
  USING orphan
  WHERE orphan.final AND q.due = orphan.due AND q.job = orphan.job AND q.origin = orphan.origin
    AND q.seq = orphan.seq AND q.partition = orphan.partition
),
capped AS MATERIALIZED (
  SELECT tenant FROM carillon.tenant_slots WHERE tenant IN (SELECT tenant FROM orphan) ORDER BY tenant FOR UPDATE
),
slots AS (
  UPDATE carillon.tenant_slots s
  SET taken = greatest(s.taken - ended.runs, 0)
  FROM (SELECT orphan.tenant, count(*) AS runs FROM orphan JOIN capped USING (tenant) GROUP BY orphan.tenant) ended
  WHERE s.tenant = ended.tenant
),
counted AS MATERIALIZED (
  SELECT tenant, host
  FROM carillon.targets
  WHERE max_concurrent IS NOT NULL AND (SELECT count(*) FROM capped) >= 0
    AND (tenant, host) IN (
      SELECT r.tenant, r.name FROM orphan JOIN carillon.routes r ON r.route = orphan.route WHERE r.kind = 'http')
  ORDER BY tenant, host
  FOR UPDATE
),
hosts AS (
  UPDATE carillon.targets t
  SET in_use = greatest(t.in_use - ended.runs, 0)
  FROM (
    SELECT counted.tenant, counted.host, count(*) AS runs
    FROM orphan
    JOIN carillon.routes r ON r.route = orphan.route AND r.kind = 'http'
    JOIN counted ON counted.tenant = r.tenant AND counted.host = r.name
    GROUP BY counted.tenant, counted.host
  ) ended
  WHERE t.tenant = ended.tenant AND t.host = ended.host
),
dead AS (
  INSERT INTO carillon.dead_letters (due, job, origin, seq, tenant, route, version, epoch, next_due, places, attempts,
                                     max_attempts, round, catch_up, reason, error, payload, dead_at, partition)
  SELECT due, job, origin, seq, tenant, route, version, epoch, next_due, places, attempt,
         max_attempts, round, catch_up, 'worker_lost', 'the worker that ran it is gone', payload, clock.now, partition
  FROM orphan CROSS JOIN clock
  WHERE final AND NOT cancel_requested
),
noted AS (
  INSERT INTO carillon.ledger (recorded_at, tenant, job, due, origin, seq, outcome, final, round, attempt,
                               max_attempts, version, epoch, next_due, token, worker, catch_up, available_at, fired_at,
                               leased_at, reason, error, partition)
  SELECT clock.now, tenant, job, due, origin, seq,
         CASE WHEN NOT begun THEN 'cancelled' WHEN NOT final OR cancel_requested THEN 'failed' ELSE 'dead'
         END::carillon.outcome, final, round, attempt,
         max_attempts, version, epoch, next_due, token, holder, catch_up, available_at, fired_at,
         leased_at, CASE WHEN begun THEN 'worker_lost' ELSE 'cancel_requested' END,
         CASE WHEN begun THEN 'the worker that ran it is gone' END, partition
  FROM orphan CROSS JOIN clock
  WHERE begun OR final
)
SELECT count(*)::int AS rescued FROM orphan
