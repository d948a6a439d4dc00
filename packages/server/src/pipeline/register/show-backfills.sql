-- Backfills, the latest first, with how far they are: what is in the queue of each, and what has ended, of a run that was
-- re-driven by its last round. Plain read. Index: replays_backfills (tenant, replay) or replays_backfills_of_job, queue's
-- primary key (job), ledger_history of the days since it began.
-- @plan each-time
-- @param tenant int
-- @param job bigint
-- @param before bigint
-- @param most int
-- @param backfill_origin smallint
SELECT r.replay, j.id AS uuid, r.from_ms, r.to_ms, r.state, r.total, r.done AS started, r.per_minute, r.only_missing,
       r.reason, r.created_at, carillon.now_ms() AS now,
       (SELECT count(*)::int FROM carillon.queue q
        WHERE q.job = r.job AND q.origin = :backfill_origin AND q.seq = r.replay % 2147483648) AS in_flight,
       ended.done, ended.failed
FROM (
  SELECT * FROM carillon.replays
  WHERE tenant = :tenant AND kind = 'backfill' AND (:job IS NULL OR job = :job) AND replay < :before
  ORDER BY replay DESC
  LIMIT :most
) r
JOIN carillon.jobs j ON j.job = r.job
CROSS JOIN LATERAL (
  SELECT count(*)::int AS done, (count(*) FILTER (WHERE last.outcome <> 'success'))::int AS failed
  FROM (
    SELECT DISTINCT ON (l.due) l.outcome
    FROM carillon.ledger l
    WHERE l.job = r.job AND l.due >= r.from_ms AND l.due < r.to_ms AND l.origin = :backfill_origin
      AND l.seq = r.replay % 2147483648 AND l.final AND l.recorded_at >= r.created_at
    ORDER BY l.due, l.round DESC
  ) last
) ended
ORDER BY r.replay DESC
