-- The short way of the closing statement, for plain ends: successful attempts of runs that are counted nowhere. That is nearly all
-- of them, and costs half of close.sql. It decides nothing: what it does not close goes to close.sql. The same fence holds.
--
-- gone     The run, where it was seen to lie: without an index. Token and holder are compared all the same, after a wait for a
--          lock, too; so a run that was re-leased, or another row that took its place, is not taken for it. Not those of tenants
--          with a cap, whose places close.sql counts; whoever sets a cap locks the queue before (cap_tenant), so that none is
--          closed by a look from before. Runs of hosts, which may have a cap too, are not given to this statement.
-- `= true` and `= false` keep these looks hashed ones.
-- Rows are locked as they lie, not by key as everybody else does it: so a wait must not last, or two would wait for each other.
-- After `lock_timeout`, set here for this statement alone, all of them are left to close.sql. It is set in `result`, which has to
-- be there before the first row is locked. Its columns are taken apart in the list of what is selected, as in fire-plain.sql.
-- Lock order: queue. Index: none; the ledger is only appended to.
-- @plan once
-- @param holder bigint
-- @param places tid[]
-- @param tokens bigint[]
-- @param started_ats bigint[]
-- @param finished_ats bigint[]
-- @param results text[]
WITH clock AS MATERIALIZED (
  SELECT carillon.now_ms() AS now, set_config('lock_timeout', '50', true) AS lock_timeout
),
result AS MATERIALIZED (
  SELECT unnest(:tokens) AS token, unnest(:started_ats) AS started_at, unnest(:finished_ats) AS finished_at, unnest(:results) AS result,
         clock.lock_timeout
  FROM clock
),
gone AS (
  DELETE FROM carillon.queue q
  WHERE q.ctid = ANY (:places) AND (q.token IN (SELECT token FROM result)) = true
    AND q.holder = :holder
    AND (q.tenant IN (SELECT tenant FROM carillon.tenant_slots)) = false
  RETURNING q.tenant, q.job, q.due, q.origin, q.seq, q.round, q.attempt, q.max_attempts, q.version, q.epoch, q.next_due,
            q.token, q.catch_up, q.available_at, q.fired_at, q.leased_at, q.partition
),
noted AS (
  INSERT INTO carillon.ledger (recorded_at, tenant, job, due, origin, seq, outcome, final, round, attempt,
                               max_attempts, version, epoch, next_due, token, worker, catch_up, available_at, fired_at,
                               leased_at, started_at, finished_at, result, partition)
  SELECT clock.now, tenant, job, due, origin, seq, 'success'::carillon.outcome, true, round, attempt,
         max_attempts, version, epoch, next_due, token, :holder, catch_up, available_at, fired_at,
         leased_at, result.started_at, result.finished_at, result.result::jsonb, partition
  FROM gone JOIN result USING (token) CROSS JOIN clock
)
SELECT coalesce(array_agg(token), '{}') AS tokens FROM gone
