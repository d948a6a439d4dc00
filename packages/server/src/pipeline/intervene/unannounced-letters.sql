-- Jobs that have dead letters and no open event that says so. A loose scan of the index: one step per job, however many
-- letters it has. What a person said is over stays so until there is a newer letter. So many jobs of a tenant have an event of their own
-- (`most_of_tenant`); of the others there are examples, with how many they are (`rest`), unless an event says
-- the same already. Plain read. Index: dead_letters_latest_of_job, alerts_open, alerts_over, jobs' primary key.
-- @param most_of_tenant int
-- @param examples int
-- @param again_ms bigint
-- @param most int
WITH RECURSIVE lettered AS (
  (SELECT d.job FROM carillon.dead_letters d ORDER BY d.job LIMIT 1)
  UNION ALL
  SELECT (SELECT d.job FROM carillon.dead_letters d WHERE d.job > lettered.job ORDER BY d.job LIMIT 1)
  FROM lettered
  WHERE lettered.job IS NOT NULL
),
fresh AS MATERIALIZED (
  SELECT j.id::text AS uuid, j.tenant, j.name, last.*
  FROM lettered
  JOIN carillon.jobs j ON j.job = lettered.job
  CROSS JOIN LATERAL (
    SELECT d.due, d.job, d.origin, d.seq, d.partition, d.reason, d.error, d.dead_at
    FROM carillon.dead_letters d
    WHERE d.job = j.job
    ORDER BY d.dead_at DESC
    LIMIT 1
  ) last
  WHERE NOT EXISTS (
    SELECT FROM carillon.alerts a
    WHERE a.resolved_at IS NULL AND coalesce(a.tenant, 0) = j.tenant AND a.fingerprint = 'dead_letter:' || j.id
  )
  AND NOT EXISTS (
    SELECT FROM carillon.alerts a
    WHERE a.resolved_at >= last.dead_at AND coalesce(a.tenant, 0) = j.tenant AND a.fingerprint = 'dead_letter:' || j.id
      AND a.resolved_by IS NOT NULL
  )
),
own AS MATERIALIZED (
  SELECT a.tenant, count(*) AS open
  FROM carillon.alerts a
  WHERE a.resolved_at IS NULL AND a.kind = 'dead_letter' AND a.fingerprint <> 'dead_letter:many'
  GROUP BY a.tenant
),
placed AS MATERIALIZED (
  SELECT f.*, row_number() OVER (PARTITION BY f.tenant ORDER BY f.dead_at, f.job) - greatest(:most_of_tenant - coalesce(o.open, 0), 0) AS beyond,
         greatest(count(*) OVER (PARTITION BY f.tenant) - greatest(:most_of_tenant - coalesce(o.open, 0), 0), 0)::int AS rest,
         max(f.dead_at) OVER (PARTITION BY f.tenant) AS newest
  FROM fresh f LEFT JOIN own o ON o.tenant = f.tenant
)
SELECT p.uuid, p.tenant, p.name, p.due, p.job, p.origin, p.seq, p.partition, p.reason, p.error, p.dead_at, p.rest,
       greatest(p.beyond, 0)::int AS beyond
FROM placed p
WHERE p.beyond <= 0 OR (p.beyond <= :examples AND NOT EXISTS (
  SELECT FROM carillon.alerts a
  WHERE coalesce(a.tenant, 0) = p.tenant AND a.fingerprint = 'dead_letter:many'
    AND CASE WHEN a.resolved_at IS NULL THEN (a.detail ->> 'jobs')::int = p.rest AND a.last_seen_at > carillon.now_ms() - :again_ms
             ELSE a.resolved_by IS NOT NULL AND a.resolved_at >= p.newest END))
ORDER BY p.dead_at
LIMIT :most
