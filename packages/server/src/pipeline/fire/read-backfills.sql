-- Backfills of my partitions whose next run is due by their pace, the longest due first. One whose job has a run in its only
-- place, a run that catches up, or a fresh tick that is due, waits, as a catch-up does. Its ticks were chosen when it was
-- asked for: no calendar and no change of the schedule has a say. Without payload and target, as in read-timers.sql.
-- Plain read: what it sees is checked again, under lock, by replay.sql.
-- Index: replays_backfilling (partition, next_at), one range per partition; primary keys.
-- @whole definition
-- @plan each-time
-- @param partitions smallint[]
-- @param most int
SELECT r.replay, r.job, r.partition, r.tenant, r.cursor_ms, r.to_ms, r.version, j.id AS uuid,
       coalesce(old.route, j.route) AS route, coalesce(old.definition, j.definition) - 'payload' - 'target' AS definition,
       NULL::jsonb AS calendars, NULL::jsonb AS skipped, r.ticks[r.done + 2] AS next_tick
FROM (
  SELECT here.*
  FROM unnest(:partitions) AS mine (partition)
  CROSS JOIN LATERAL (
    SELECT *
    FROM carillon.replays
    WHERE partition = mine.partition AND state = 'running' AND kind = 'backfill' AND next_at <= carillon.now_ms()
      AND (SELECT true FROM carillon.queue q
           WHERE q.job = replays.job AND (q.catch_up OR (q.slot >= 0 AND q.places = 1)) LIMIT 1) IS NULL
      AND (SELECT true FROM carillon.timers t
           WHERE t.job = replays.job AND t.partition = replays.partition AND t.start_at <= carillon.now_ms()) IS NULL
    ORDER BY next_at
    LIMIT :most
  ) here
  ORDER BY here.next_at
  LIMIT :most
) r
JOIN carillon.jobs j ON j.job = r.job
LEFT JOIN carillon.job_versions old ON old.job = r.job AND old.version = r.version AND j.version <> r.version
ORDER BY r.next_at
