-- Fires and hands over in one statement: the run is inserted already leased. $1 jobs, $2 dues, $3 period, $4 worker, $5 now.
WITH moved AS (
  UPDATE timers t SET due = t.due + $3::bigint
  FROM unnest($1::bigint[], $2::bigint[]) AS tick (job, due)
  WHERE t.job = tick.job AND t.due = tick.due
  RETURNING t.job, tick.due
)
INSERT INTO queue (due, job, worker, leased_at)
SELECT due, job, $4::int, $5::bigint FROM moved
