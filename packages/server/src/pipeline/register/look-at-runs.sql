-- The runs of jobs in flight, locked: no lease, close or rescue changes them before the change under way has ended. Runs
-- after lock-timer.sql, so that no fire adds one either. Waits for a lease or close in progress.
-- Lock order: timers, queue; by key. Index: queue's primary key (job).
-- @plan each-time
-- @param jobs bigint[]
SELECT q.job, q.due, q.origin, q.seq, q.slot, q.places, q.attempt, q.round, q.catch_up, q.holder, q.available_at
FROM carillon.queue q
WHERE q.job = ANY (:jobs)
ORDER BY q.due, q.job, q.origin, q.seq
FOR UPDATE OF q
