-- Where runs of these tasks are due, and when the next one is: one look for all workers over HTTP that wait in a process,
-- so that a lease is tried only where it finds something.
--
-- Lanes begin where the caller last saw something (see lease.sql). A run that waits for an overlap place counts only while
-- one of its job's places is free; of `freed` jobs all that wait are looked at, wherever they lie.
-- Plain read. Index: queue_ready and queue_waiting (route, available_at), one range per lane; queue_slot for the places.
-- @plan each-time
-- @param tenants int[]
-- @param tasks text[]
-- @param most int
-- @param from bigint
-- @param routes int[]
-- @param ready_froms bigint[]
-- @param waiting_froms bigint[]
-- @param freed bigint[]
WITH clock AS MATERIALIZED (
  SELECT carillon.now_ms() AS now
),
lane AS MATERIALIZED (
  SELECT r.route, r.tenant, r.name AS task,
         coalesce(known.ready_from, :from) AS ready_from, coalesce(known.waiting_from, :from) AS waiting_from
  FROM unnest(:tenants, :tasks) AS wanted (tenant, task)
  JOIN carillon.routes r ON r.tenant = wanted.tenant AND r.kind = 'task' AND r.name = wanted.task
  LEFT JOIN unnest(:routes, :ready_froms, :waiting_froms) AS known (route, ready_from, waiting_from)
    ON known.route = r.route
),
freed AS MATERIALIZED (
  SELECT *
  FROM carillon.queue
  WHERE job = ANY (:freed) AND holder IS NULL AND places IS NOT NULL AND coalesce(slot, -1) < 0
)
SELECT clock.now, lane.route, lane.tenant, lane.task, at_hand.ready, waiting.waiting,
       (at_hand.runs + waiting.runs)::int AS runs, least(ahead.ready_at, ahead.waiting_at) AS next_at
FROM lane CROSS JOIN clock
CROSS JOIN LATERAL (
  SELECT count(*) AS runs, min(due.available_at) AS ready
  FROM (
    SELECT q.available_at
    FROM carillon.queue q
    WHERE q.route = lane.route AND q.holder IS NULL AND (q.places IS NULL OR q.slot >= 0)
      AND q.available_at >= lane.ready_from AND q.available_at <= clock.now
    ORDER BY q.available_at
    LIMIT :most
  ) due
) at_hand
CROSS JOIN LATERAL (
  SELECT count(*) AS runs, min(due.available_at) AS waiting
  FROM (
    SELECT q.available_at
    FROM (
      SELECT * FROM carillon.queue
      WHERE route = lane.route AND holder IS NULL AND places IS NOT NULL AND coalesce(slot, -1) < 0
        AND available_at >= lane.waiting_from AND available_at <= clock.now
      UNION ALL
      SELECT * FROM freed
      WHERE route = lane.route AND available_at < lane.waiting_from AND available_at <= clock.now
    ) q
    WHERE (SELECT count(*) FROM carillon.queue other
           WHERE other.job = q.job AND other.slot >= 0 AND other.slot < q.places) < q.places
    ORDER BY q.available_at
    LIMIT :most
  ) due
) waiting
CROSS JOIN LATERAL (
  SELECT (SELECT q.available_at FROM carillon.queue q
          WHERE q.route = lane.route AND q.holder IS NULL AND (q.places IS NULL OR q.slot >= 0)
            AND q.available_at > clock.now
          ORDER BY q.available_at LIMIT 1) AS ready_at,
         (SELECT q.available_at FROM carillon.queue q
          WHERE q.route = lane.route AND q.holder IS NULL AND q.places IS NOT NULL AND coalesce(q.slot, -1) < 0
            AND q.available_at > clock.now
          ORDER BY q.available_at LIMIT 1) AS waiting_at
) ahead
