-- Turns the next ticks of replays into runs and moves their cursors, together or not at all. One autocommit statement.
--
-- own      As in fire.sql: the partitions that are still mine, by epoch, FOR KEY SHARE.
-- timer    The lock that pauses, edits and deletes take first: whoever has it, has the job's replays. SKIP LOCKED. A job
--          whose fresh tick is due and not fired yet waits: else, of two that want the place, the older could come first
--          again and again.
-- locked   Replays that are still at the tick that was seen. One per job: catching up is serial, oldest first, and before
--          backfills. None while a fresh run waits for the place.
-- fired    The run, in the lowest free place. Taken places decide nothing: it is tried again.
-- moved    The second cursor. The replay is done with its last tick. The next tick of a backfill comes at its pace.
--
-- Lock order: partitions, timers, replays, queue; each by key. Index: primary keys, queue_slot.
-- @plan each-time
-- @param owner bigint
-- @param partitions smallint[]
-- @param epochs bigint[]
-- @param replays bigint[]
-- @param jobs bigint[]
-- @param job_partitions smallint[]
-- @param cursors bigint[]
-- @param origins smallint[]
-- @param seqs int[]
-- @param next_cursors bigint[]
-- @param next_dues bigint[]
-- @param versions int[]
-- @param routes int[]
-- @param places smallint[]
-- @param max_attempts smallint[]
WITH clock AS MATERIALIZED (
  SELECT carillon.now_ms() AS now
),
own AS MATERIALIZED (
  SELECT p.partition, p.epoch
  FROM carillon.partitions p
  JOIN unnest(:partitions, :epochs) AS held (partition, epoch) USING (partition, epoch)
  WHERE p.owner = :owner
  ORDER BY p.partition
  FOR KEY SHARE OF p
),
tick AS MATERIALIZED (
  SELECT *
  FROM unnest(:replays, :jobs, :job_partitions, :cursors, :origins, :seqs, :next_cursors, :next_dues, :versions, :routes,
              :places, :max_attempts)
    AS t (replay, job, partition, cursor_ms, origin, seq, next_cursor, next_due, version, route, places, max_attempts)
),
timer AS MATERIALIZED (
  SELECT t.job, t.partition, own.epoch
  FROM (SELECT DISTINCT job, partition FROM tick) wanted
  JOIN own ON own.partition = wanted.partition
  JOIN carillon.timers t ON t.job = wanted.job AND t.partition = wanted.partition
  WHERE t.start_at IS NULL OR t.start_at > (SELECT now FROM clock)
  ORDER BY t.job
  FOR NO KEY UPDATE OF t SKIP LOCKED
),
seen AS MATERIALIZED (
  SELECT r.replay, r.tenant, tick.job, tick.partition, tick.cursor_ms, tick.origin, tick.seq, tick.next_cursor, tick.next_due, tick.version,
         tick.route, tick.places, tick.max_attempts, timer.epoch
  FROM tick
  JOIN timer ON timer.job = tick.job
  JOIN carillon.replays r ON r.replay = tick.replay AND r.cursor_ms = tick.cursor_ms AND r.state = 'running'
  ORDER BY r.replay
  FOR NO KEY UPDATE OF r
),
locked AS MATERIALIZED (
  SELECT DISTINCT ON (job) seen.*,
         CASE
           WHEN places IS NULL THEN NULL
           ELSE (SELECT nullif(least(coalesce(min(turn) FILTER (WHERE turn < slot), count(*)), seen.places), seen.places)
                 FROM (SELECT slot, row_number() OVER (ORDER BY slot) - 1 AS turn
                       FROM carillon.queue WHERE job = seen.job AND slot >= 0) held)
         END AS place
  FROM seen
  WHERE NOT EXISTS (SELECT FROM carillon.queue q WHERE q.job = seen.job AND (q.catch_up OR q.slot = -1))
  ORDER BY job, origin, cursor_ms
),
fired AS (
  INSERT INTO carillon.queue (due, job, origin, seq, tenant, route, version, epoch, next_due, slot, places, max_attempts,
                              available_at, fired_at, catch_up, partition)
  SELECT cursor_ms, job, origin, seq, tenant, route, version, epoch, next_due, place, places, max_attempts,
         clock.now, clock.now, true, partition
  FROM locked CROSS JOIN clock
  WHERE places IS NULL OR place IS NOT NULL
  ORDER BY job
  ON CONFLICT (job, slot) WHERE slot IS NOT NULL DO NOTHING
  RETURNING job
),
moved AS (
  UPDATE carillon.replays r
  SET cursor_ms = coalesce(locked.next_cursor, r.cursor_ms), done = r.done + 1,
      state = CASE WHEN locked.next_cursor IS NULL THEN 'done' ELSE 'running' END,
      next_at = CASE WHEN r.kind = 'backfill' THEN clock.now + 60000 / r.per_minute END,
      ended_at = CASE WHEN r.kind = 'backfill' AND locked.next_cursor IS NULL THEN clock.now END
  FROM fired JOIN locked USING (job) CROSS JOIN clock
  WHERE r.replay = locked.replay
  RETURNING r.replay
)
SELECT tick.replay, tick.job,
       CASE
         WHEN moved.replay IS NOT NULL THEN 'fired'
         WHEN own.partition IS NULL THEN 'refused'
         WHEN seen.replay IS NULL THEN 'changed'
         ELSE 'waits'
       END AS decision
FROM tick
LEFT JOIN own ON own.partition = tick.partition
LEFT JOIN seen ON seen.replay = tick.replay
LEFT JOIN moved ON moved.replay = tick.replay
