-- Closes: the fenced delete and the ledger row. $1 jobs, $2 dues, $3 worker, $4 now.
WITH ended AS (
  DELETE FROM queue q
  USING unnest($1::bigint[], $2::bigint[]) AS run (job, due)
  WHERE q.due = run.due AND q.job = run.job AND q.worker = $3::int
  RETURNING q.due, q.job, q.attempt, q.worker, q.leased_at
)
INSERT INTO ledger (due, job, attempt, outcome, worker, started_at, finished_at)
SELECT due, job, attempt, 1, worker, leased_at, $4::bigint FROM ended
