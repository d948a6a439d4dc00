-- Workers over HTTP that are alive, the latest first, each with how many runs it holds, and how many workers there are.
-- Plain read; incarnations is small. Index: queue_remote.
-- @plan each-time
-- @param tenant int
-- @param most int
SELECT i.incarnation, i.host AS name, i.tasks, i.started_at,
       greatest(carillon.now_ms() - i.beat_at, 0) AS beat_age_ms,
       (SELECT count(*)::int FROM carillon.queue q
        WHERE q.holder = i.incarnation AND q.deadline IS NOT NULL) AS runs,
       i.alive
FROM (
  SELECT *, count(*) OVER ()::int AS alive
  FROM carillon.incarnations
  WHERE state = 'alive' AND tenant IS NOT NULL AND (:tenant IS NULL OR tenant = :tenant)
  ORDER BY started_at DESC, incarnation
  LIMIT :most
) i
ORDER BY i.started_at DESC, i.incarnation
