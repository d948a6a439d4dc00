-- What came into the ledger since a look that saw `seen`: rows of transactions that this look shows and that one did not,
-- whenever they began, so that one which commits late is neither lost nor told twice. `since` bounds how far back a row of
-- such a transaction can lie. Rows up to the look `up_to` come first, without the first `skip` of them: there a reader of
-- one batch was cut off. In this order they come for whoever asks. Plain read, in the transaction of tail-position.sql.
--
-- xmin has 32 bits: its upper half is that of the latest transaction not after it.
-- Index: ledger_recorded (with by-index.sql), jobs' primary key.
-- @plan each-time
-- @param since bigint
-- @param seen pg_snapshot
-- @param up_to pg_snapshot
-- @param tenants int[]
-- @param jobs bigint[]
-- @param skip int
-- @param most int
WITH latest AS MATERIALIZED (
  SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS xid
),
new AS MATERIALIZED (
  SELECT l.*, coalesce(NOT pg_visible_in_snapshot(made.xid, :up_to), true) AS later
  FROM carillon.ledger l CROSS JOIN latest
  CROSS JOIN LATERAL (
    SELECT (latest.xid - ((latest.xid - l.xmin::text::bigint) & 4294967295))::text::xid8 AS xid
  ) made
  WHERE l.recorded_at >= :since AND l.outcome <> 'stale' AND l.tenant = ANY (:tenants)
    AND (:jobs IS NULL OR l.job = ANY (:jobs)) AND NOT pg_visible_in_snapshot(made.xid, :seen)
  ORDER BY later, l.recorded_at, l.job, l.due, l.origin, l.seq, l.round, l.attempt
  OFFSET :skip
  LIMIT :most
)
SELECT new.tenant, new.job, new.due, new.origin, new.seq, new.partition, new.outcome::text AS status, new.final,
       new.attempt, new.max_attempts, new.error, new.reason, new.result, new.catch_up, new.version, new.token, new.worker,
       new.available_at, new.started_at, new.finished_at, new.due_to, new.ticks, new.later, j.id::text AS uuid
FROM new
LEFT JOIN carillon.jobs j ON j.job = new.job
ORDER BY new.later, new.recorded_at, new.job, new.due, new.origin, new.seq, new.round, new.attempt
