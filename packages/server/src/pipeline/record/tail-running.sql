-- The runs of tenants that are under way, and were not at a look that saw `seen` at the instant `at`. A run that is asked
-- to cancel is written anew: soon after its start it is told once more, later it is not taken for one that has just begun.
-- Goes through the queue while somebody watches, a small part of the time (run-tail.ts): an index would be paid for by
-- every lease. Of named jobs only: queue's primary key. Plain read.
-- @plan each-time
-- @param seen pg_snapshot
-- @param at bigint
-- @param tenants int[]
-- @param jobs bigint[]
-- @param most int
WITH latest AS MATERIALIZED (
  SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS xid, carillon.now_ms() AS now
)
SELECT q.tenant, q.job, q.due, q.origin, q.seq, q.partition, 'running' AS status, true AS final, q.attempt,
       q.max_attempts, q.last_error AS error, CASE WHEN q.cancel_requested THEN 'cancel_requested' END AS reason,
       NULL::jsonb AS result, q.catch_up, q.version, q.token, q.holder AS worker, q.available_at,
       greatest(q.available_at, q.leased_at) AS started_at, NULL::bigint AS finished_at, NULL::bigint AS due_to, 1 AS ticks,
       true AS later, j.id::text AS uuid
FROM carillon.queue q
CROSS JOIN latest
JOIN carillon.jobs j ON j.job = q.job
WHERE q.holder IS NOT NULL AND q.available_at <= latest.now AND q.tenant = ANY (:tenants)
  AND (:jobs IS NULL OR q.job = ANY (:jobs))
  AND greatest(q.available_at, q.leased_at) > :at - 10000
  AND (q.available_at > :at
       OR NOT pg_visible_in_snapshot((latest.xid - ((latest.xid - q.xmin::text::bigint) & 4294967295))::text::xid8, :seen))
ORDER BY started_at DESC, q.job, q.due, q.origin, q.seq
LIMIT :most
