-- Looks what became of the runs that a re-drive sent ahead: one that ended otherwise than well stops it, all ended well
-- lets it go on. One snapshot: a run is in the queue in its round, or its final row of that round is in the ledger.
-- Lock: the re-drive, SKIP LOCKED. Index: redrives' primary key, queue's primary key, ledger_history.
-- @plan each-time
-- @param redrive bigint
WITH mine AS MATERIALIZED (
  SELECT r.*
  FROM carillon.redrives r
  WHERE r.redrive = :redrive AND r.state = 'watching'
  FOR UPDATE OF r SKIP LOCKED
),
fate AS MATERIALIZED (
  SELECT mine.redrive,
         coalesce((
           SELECT l.outcome::text
           FROM carillon.ledger l
           WHERE l.job = c.job AND l.due = c.due AND l.origin = c.origin AND l.seq = c.seq AND l.round = c.round AND l.final
           LIMIT 1
         ), CASE WHEN EXISTS (
           SELECT FROM carillon.queue q
           WHERE q.due = c.due AND q.job = c.job AND q.origin = c.origin AND q.seq = c.seq AND q.partition = c.partition
             AND q.round = c.round
         ) THEN 'going' ELSE 'unknown' END) AS fate
  FROM mine CROSS JOIN LATERAL jsonb_to_recordset(mine.canaries)
    AS c (due bigint, job bigint, origin smallint, seq int, partition smallint, round smallint)
),
judged AS MATERIALIZED (
  SELECT redrive, bool_or(fate NOT IN ('going', 'success')) AS failed, bool_and(fate = 'success') AS succeeded
  FROM fate
  GROUP BY redrive
)
UPDATE carillon.redrives r
SET state = CASE WHEN failed THEN 'stopped' ELSE 'running' END,
    reason = CASE WHEN failed THEN 'canary_failed' END,
    paced_at = carillon.now_ms() - ceil(1000 / r.per_second),
    ended_at = CASE WHEN failed THEN carillon.now_ms() END
FROM judged
WHERE r.redrive = judged.redrive AND (judged.failed OR judged.succeeded)
RETURNING r.state
