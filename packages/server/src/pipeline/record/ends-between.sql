-- The runs of a tenant that ended in a stretch of time, the latest first, continued below the identity where the page
-- before ended. Of a run that was re-driven only its last round counts: one that is back in the queue, or that ended once
-- more, is left out here. Only a dead run can come back. Tags are those that the job has now, looked up run by run: a
-- stretch is bounded by time, and the jobs of a tag are not. Plain read.
-- Index: ledger_recorded (with by-index.sql), queue's primary key, ledger_history, jobs' primary key.
-- @plan each-time
-- @param tenant int
-- @param from_at bigint
-- @param to_at bigint
-- @param before_job bigint
-- @param before_due bigint
-- @param before_origin smallint
-- @param before_seq int
-- @param status text
-- @param tags text[]
-- @param most int
SELECT ended.*, j.id::text AS uuid
FROM (
  SELECT l.recorded_at, l.job, l.due, l.origin, l.seq, l.partition, l.outcome::text AS status, l.attempt, l.max_attempts,
         l.error, l.reason, l.result, l.catch_up, l.version, l.token, l.worker, l.available_at, l.started_at,
         l.finished_at, l.due_to, l.ticks
  FROM carillon.ledger l
  WHERE l.recorded_at >= :from_at AND l.recorded_at <= :to_at AND l.tenant = :tenant AND l.final
    AND (l.recorded_at < :to_at
         OR (l.job, l.due, l.origin, l.seq) < (:before_job, :before_due, :before_origin, :before_seq))
    AND (:status IS NULL OR l.outcome::text = :status)
    AND (:tags IS NULL OR (SELECT tagged.tags ?& :tags FROM carillon.jobs tagged WHERE tagged.job = l.job))
    AND (l.outcome <> 'dead'
         OR NOT EXISTS (
           SELECT FROM carillon.queue q
           WHERE q.job = l.job AND q.due = l.due AND q.origin = l.origin AND q.seq = l.seq)
         AND NOT EXISTS (
           SELECT FROM carillon.ledger later
           WHERE later.job = l.job AND later.due = l.due AND later.origin = l.origin AND later.seq = l.seq
             AND later.recorded_at >= l.recorded_at AND later.final AND later.round > l.round))
  ORDER BY l.recorded_at DESC, l.job DESC, l.due DESC, l.origin DESC, l.seq DESC
  LIMIT :most
) ended
LEFT JOIN carillon.jobs j ON j.job = ended.job
ORDER BY ended.recorded_at DESC, ended.job DESC, ended.due DESC, ended.origin DESC, ended.seq DESC
