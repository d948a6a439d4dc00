-- Ticks of some jobs that are on their way or ended as dead letters: rows of the queue, and of dead_letters. Plain read,
-- in one snapshot with the ledger, so that a run that moves from one to the other is never in neither.
-- Index: queue's primary key (job), dead_letters_by_job.
-- @plan each-time
-- @param jobs bigint[]
-- @param from bigint
-- @param to bigint
SELECT q.job, q.due, q.round, 'queue' AS place
FROM carillon.queue q
WHERE q.job = ANY (:jobs) AND q.origin = 0 AND q.due >= :from AND q.due < :to
UNION ALL
SELECT d.job, d.due, d.round, 'dead_letters'
FROM carillon.dead_letters d
WHERE d.job = ANY (:jobs) AND d.origin = 0 AND d.due >= :from AND d.due < :to
