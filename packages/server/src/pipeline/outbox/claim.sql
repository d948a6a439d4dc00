-- Takes requests that nobody is at, for a while: who dies with one loses it to the next look. No watermark: a row that a
-- long transaction commits late is found like any other. Tenant by tenant in turns, so that the backlog of one, which may
-- have to wait for its quota, keeps nobody from theirs; and what was tried before comes after what was not. With every try
-- the while is longer, up to `longest_ms`. `made`: an earlier try got as far as the job.
-- Lock: the rows, SKIP LOCKED. Index: outbox_waiting holds what is to be done only, and is stepped through by tenant;
-- jobs_id_key and jobs_pkey for each.
-- @param claim_ms bigint
-- @param longest_ms bigint
-- @param most int
WITH RECURSIVE clock AS MATERIALIZED (
  SELECT carillon.now_ms() AS now
),
tenants AS (
  SELECT min(tenant) AS tenant FROM carillon.outbox WHERE done_at IS NULL AND refused_at IS NULL
  UNION ALL
  SELECT (SELECT min(o.tenant) FROM carillon.outbox o
          WHERE o.tenant > t.tenant AND o.done_at IS NULL AND o.refused_at IS NULL)
  FROM tenants t WHERE t.tenant IS NOT NULL
),
turns AS MATERIALIZED (
  SELECT own.entry
  FROM clock CROSS JOIN tenants t CROSS JOIN LATERAL (
    SELECT o.entry, o.claimed_until, row_number() OVER (ORDER BY o.claimed_until, o.entry) AS turn
    FROM (SELECT o.entry, o.claimed_until
          FROM carillon.outbox o
          WHERE o.tenant = t.tenant AND o.done_at IS NULL AND o.refused_at IS NULL AND o.claimed_until <= clock.now
          ORDER BY o.claimed_until, o.entry
          LIMIT :most) o
  ) own
  ORDER BY own.turn, own.claimed_until, own.entry
  LIMIT :most
),
next AS MATERIALIZED (
  SELECT entry
  FROM carillon.outbox
  WHERE entry IN (SELECT entry FROM turns) AND done_at IS NULL AND refused_at IS NULL AND claimed_until <= (SELECT now FROM clock)
  FOR UPDATE SKIP LOCKED
)
UPDATE carillon.outbox o
SET claimed_until = clock.now + least(:longest_ms, :claim_ms * (1 << least(o.tries, 20))), tries = o.tries + 1
FROM next CROSS JOIN clock
WHERE o.entry = next.entry
RETURNING o.entry, o.tenant, o.id AS uuid, o.definition, o.due, o.login::text AS login,
  (SELECT j.id FROM carillon.jobs j WHERE j.job = o.job) AS triggers,
  EXISTS (SELECT FROM carillon.jobs j WHERE j.id = o.id) AS made
