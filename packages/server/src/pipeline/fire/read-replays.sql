-- Replays of my partitions that can go on, the oldest tick first. One whose job has a run in its only place, a run that
-- catches up, or a fresh tick that is due, waits: catching up is serial, and comes second. Without payload and target, as in read-timers.sql.
-- `calendars`: what the calendars that it names held in the stretch of the job's life in which its ticks lie. They may have
-- changed since, and by their new content the ticks in between would be others. Read here, with the stretch, in one snapshot.
-- `skipped`: ticks of it that somebody had asked to leave out. They have their own records.
-- After an outage nearly every job has one: of each partition only as many are looked at as a step may need, not `most`.
-- Plain read: what it sees is checked again, under lock, by replay.sql.
-- Index: replays_running (partition, cursor_ms), one range per partition; primary keys; calendars (tenant, name); tick_changes' primary key.
-- @whole definition
-- @plan each-time
-- @param partitions smallint[]
-- @param most int
-- @param most_per_partition int
SELECT r.replay, r.job, r.partition, r.tenant, r.cursor_ms, r.to_ms, r.version, j.id AS uuid,
       coalesce(old.route, j.route) AS route, coalesce(old.definition, j.definition) - 'payload' - 'target' AS definition,
       coalesce(
         CASE WHEN r.cursor_ms <= j.effective_from THEN
           (SELECT s.calendars FROM carillon.segments s
            WHERE s.job = r.job AND s.from_ms < r.cursor_ms ORDER BY s.from_ms DESC LIMIT 1)
         END,
         CASE WHEN coalesce(old.definition, j.definition) -> 'exclude' <> '[]' THEN
           (SELECT jsonb_object_agg(c.name, c.definition) FROM carillon.calendars c
            WHERE c.tenant = r.tenant AND coalesce(old.definition, j.definition) -> 'exclude' ? c.name)
         END
       ) AS calendars,
       CASE WHEN j.ticks_changed_until >= r.cursor_ms THEN
         (SELECT jsonb_agg(c.due) FROM carillon.tick_changes c
          WHERE c.job = r.job AND c.due > r.cursor_ms AND c.due <= r.to_ms AND c.action = 'skip')
       END AS skipped
FROM (
  SELECT here.*
  FROM unnest(:partitions) AS mine (partition)
  CROSS JOIN LATERAL (
    SELECT *
    FROM carillon.replays
    WHERE partition = mine.partition AND state = 'running' AND kind = 'catch_up'
      AND (SELECT true FROM carillon.queue q
           WHERE q.job = replays.job AND (q.catch_up OR (q.slot >= 0 AND q.places = 1)) LIMIT 1) IS NULL
      AND (SELECT true FROM carillon.timers t
           WHERE t.job = replays.job AND t.partition = replays.partition AND t.start_at <= carillon.now_ms()) IS NULL
    ORDER BY cursor_ms
    LIMIT :most_per_partition
  ) here
  ORDER BY here.cursor_ms
  LIMIT :most
) r
JOIN carillon.jobs j ON j.job = r.job
LEFT JOIN carillon.job_versions old ON old.job = r.job AND old.version = r.version AND j.version <> r.version
ORDER BY r.cursor_ms
