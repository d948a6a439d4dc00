-- The next timers of partitions whose zone data changed, earliest first, with what their ticks are computed from where a
-- job was computed with other data (`definition` NULL: it was not). `staged_from` is the first run that was staged and can
-- be taken back. `accounted` is where the cursor stands then: the last tick before it that is on record. The records need
-- be looked at for a day only, since no change of zone data shifts a tick by more.
-- Plain read: what it sees is checked again, under lock, by rezone.sql.
-- Index: timers_start (partition, start_at, job), primary keys, queue's primary key (job), ledger_history.
-- @whole definition
-- @plan each-time
-- @param partitions smallint[]
-- @param after_starts bigint[]
-- @param after_jobs bigint[]
-- @param most_per_partition int
-- @param zone_data text
-- @param parked_until bigint
-- @param most_shift_ms bigint
SELECT t.job, t.partition, t.tenant, t.due, t.start_at, t.rev, j.id AS uuid, j.ticks_changed_until,
       CASE WHEN j.zone_data <> :zone_data THEN j.definition - 'payload' - 'target' END AS definition,
       staged.since AS staged_from, coalesce(staged.count, 0) AS staged_count,
       CASE
         WHEN staged.since IS NULL THEN t.accounted_through
         ELSE greatest(
           j.effective_from,
           staged.since - :most_shift_ms,
           (SELECT max(q.due) FROM carillon.queue q WHERE q.job = t.job AND q.origin = 0 AND q.due < staged.since),
           (SELECT coalesce(l.due_to, l.due) FROM carillon.ledger l
            WHERE l.job = t.job AND l.due < staged.since AND l.origin = 0 AND l.final
              AND l.reason IS DISTINCT FROM 'dst_gap'
            ORDER BY l.due DESC LIMIT 1),
           (SELECT max(r.to_ms) FROM carillon.replays r
            WHERE r.job = t.job AND r.kind = 'catch_up' AND r.to_ms < staged.since AND r.state IN ('running', 'paused'))
         )
       END AS accounted
FROM unnest(:partitions, :after_starts, :after_jobs) AS mine (partition, after_start, after_job)
CROSS JOIN LATERAL (
  SELECT job, partition, tenant, due, start_at, rev, accounted_through
  FROM carillon.timers
  WHERE partition = mine.partition AND start_at >= mine.after_start
    AND (start_at, job) > (mine.after_start, mine.after_job)
  ORDER BY start_at, job
  LIMIT :most_per_partition
) t
JOIN carillon.jobs j ON j.job = t.job
LEFT JOIN LATERAL (
  SELECT min(q.due) AS since, count(*)::int AS count
  FROM carillon.queue q
  WHERE q.job = t.job AND q.origin = 0 AND q.holder IS NULL AND q.attempt = 1 AND q.round = 0 AND NOT q.catch_up
    AND q.available_at > carillon.now_ms() AND q.available_at < :parked_until
    AND q.due > coalesce((
      SELECT max(stays.due) FROM carillon.queue stays
      WHERE stays.job = t.job AND stays.origin = 0
        AND (stays.holder IS NOT NULL OR stays.attempt > 1 OR stays.round > 0 OR stays.catch_up
             OR stays.available_at <= carillon.now_ms() OR stays.available_at >= :parked_until)
    ), 0)
) staged ON j.zone_data <> :zone_data
ORDER BY t.partition, t.start_at, t.job
