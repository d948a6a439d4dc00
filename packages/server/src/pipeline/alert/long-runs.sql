-- The jobs of runs that are under way, for whoever judges how long they take: those that this process has, as it says, and those of workers over
-- HTTP, the nearest to their deadlines. Plain read. Index: queue_remote, jobs' primary key.
-- @plan each-time
-- @param jobs bigint[]
-- @param dues bigint[]
-- @param started_ats bigint[]
-- @param remote boolean
-- @param most int
WITH clock AS MATERIALIZED (
  SELECT carillon.now_ms() AS now
),
held AS MATERIALIZED (
  SELECT own.job, own.due, own.started_at FROM unnest(:jobs, :dues, :started_ats) AS own (job, due, started_at)
  UNION ALL
  (SELECT q.job, q.due, q.leased_at FROM carillon.queue q
   WHERE :remote AND q.deadline IS NOT NULL AND q.holder IS NOT NULL
   ORDER BY q.deadline LIMIT :most)
)
SELECT held.job, j.tenant, held.due, clock.now - held.started_at AS took, j.id::text AS uuid, j.name, j.tags,
       j.definition -> 'expect' AS expect
FROM held CROSS JOIN clock
JOIN carillon.jobs j ON j.job = held.job
WHERE clock.now - held.started_at >= 1000
