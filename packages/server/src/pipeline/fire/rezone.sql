-- Sets cursors whose next tick is another one by the zone data of now. What was fired stays; a staged run that nobody
-- has taken is taken back, or all that were staged for the job, or the job is left for the next look. The stretch of the
-- job's life that was computed with the old data becomes a segment, unless nothing lies in it.
--
-- own      Mine by epoch, FOR KEY SHARE: as in fire.sql, a takeover waits for this statement or refuses it.
-- locked   Timers still at the (due, rev) that was seen: neither fired nor edited meanwhile.
-- staged   The runs to take back, locked. One that a worker leased meanwhile drops out, and then the numbers differ.
-- free     Jobs of which all can be taken back that was seen.
--
-- Lock order: partitions, timers, queue, jobs; each by key. Index: primary keys, queue's primary key (job).
-- @plan each-time
-- @param owner bigint
-- @param partitions smallint[]
-- @param epochs bigint[]
-- @param jobs bigint[]
-- @param job_partitions smallint[]
-- @param dues bigint[]
-- @param revs int[]
-- @param accounted bigint[]
-- @param next_dues bigint[]
-- @param next_starts bigint[]
-- @param staged_froms bigint[]
-- @param staged_counts int[]
-- @param calendars text[]
-- @param zone_data text
WITH clock AS MATERIALIZED (
  SELECT carillon.now_ms() AS now
),
own AS MATERIALIZED (
  SELECT p.partition
  FROM carillon.partitions p
  JOIN unnest(:partitions, :epochs) AS held (partition, epoch) USING (partition, epoch)
  WHERE p.owner = :owner
  ORDER BY p.partition
  FOR KEY SHARE OF p
),
change AS MATERIALIZED (
  SELECT *
  FROM unnest(:jobs, :job_partitions, :dues, :revs, :accounted, :next_dues, :next_starts, :staged_froms, :staged_counts,
              :calendars)
    AS c (job, partition, due, rev, accounted, next_due, next_start, staged_from, staged_count, calendars)
),
locked AS MATERIALIZED (
  SELECT change.*
  FROM change
  JOIN own ON own.partition = change.partition
  JOIN carillon.timers timer
    ON timer.job = change.job AND timer.partition = change.partition
   AND timer.due = change.due AND timer.rev = change.rev
  ORDER BY timer.job
  FOR NO KEY UPDATE OF timer
),
staged AS MATERIALIZED (
  SELECT q.due, q.job, q.origin, q.seq, q.partition
  FROM locked CROSS JOIN clock
  JOIN carillon.queue q ON q.job = locked.job
  WHERE q.origin = 0 AND q.due >= locked.staged_from AND q.holder IS NULL AND q.available_at > clock.now
  ORDER BY q.due, q.job, q.origin, q.seq
  FOR UPDATE OF q
),
free AS MATERIALIZED (
  SELECT *
  FROM locked
  WHERE staged_count = (SELECT count(*) FROM staged WHERE staged.job = locked.job)
),
taken_back AS (
  DELETE FROM carillon.queue q
  USING staged JOIN free ON free.job = staged.job
  WHERE q.due = staged.due AND q.job = staged.job AND q.origin = staged.origin AND q.seq = staged.seq
    AND q.partition = staged.partition
),
moved AS (
  UPDATE carillon.timers timer
  SET due = free.next_due, start_at = free.next_start, accounted_through = free.accounted, rev = timer.rev + 1,
      runs = timer.runs - free.staged_count
  FROM free
  WHERE timer.job = free.job AND timer.partition = free.partition
),
stretch AS (
  INSERT INTO carillon.segments (job, from_ms, tenant, version, calendars, zone_data, reason, partition)
  SELECT j.job, j.effective_from, j.tenant, j.version, free.calendars::jsonb, j.zone_data, 'zone_data', j.partition
  FROM carillon.jobs j JOIN free ON free.job = j.job
  WHERE j.effective_from < free.accounted
),
told AS (
  UPDATE carillon.jobs j
  SET zone_data = :zone_data, effective_from = free.accounted, changed_at = clock.now,
      state = CASE WHEN free.next_due IS NULL THEN 'ended' ELSE j.state END,
      ended_at = CASE WHEN free.next_due IS NULL THEN clock.now ELSE j.ended_at END
  FROM free CROSS JOIN clock
  WHERE j.job = free.job
)
SELECT job FROM free
