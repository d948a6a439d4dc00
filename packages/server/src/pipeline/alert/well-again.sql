-- Forgets the health of jobs that are well: nothing fails, nothing is passed over. In the transaction of claim-watch.sql.
-- Lock: the rows. Index: job_health's primary key.
-- @param jobs bigint[]
DELETE FROM carillon.job_health WHERE job = ANY (:jobs) AND failures = 0 AND overlapped = 0
RETURNING job
