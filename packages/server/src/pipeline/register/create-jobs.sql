-- Registers jobs of one tenant with their timers: both or neither. Set-based: one job or a thousand are one statement, and
-- each comes back with what became of it:
--   created     committed with this statement
--   taken       a live job has its name, or one further up in this statement; the index jobs_live_name decides
--   over_quota, over_rate   the tenant may not have more, or not so fast
--   uncounted   the tenant has no counter yet: recount-jobs.sql makes it
--   other_terms the tenant's own limits are not those that the jobs were checked by: nothing is done
--   known       its idempotency key has an answer already
--   key_in_use  somebody is at work under its idempotency key
-- A job that starts later than `far_ms` from now is not told to the schedulers (changed_at 0): they read it when they come to it.
-- A job that comes with an idempotency key leaves its answer under it, in this statement. A key that another process keeps
-- between the snapshot and the insert fails on the primary key, and with it all of this: sent again, it is `known`.
-- Locks: an advisory lock per key (never waited for), then the tenant's counter, which puts statements of one tenant in a
-- line, so that names cannot deadlock. Index: tenant_jobs_pkey, jobs_live_name, idempotency_keys_pkey.
-- @param tenant int
-- @param uuids uuid[]
-- @param partitions smallint[]
-- @param names text[]
-- @param definitions jsonb[]
-- @param one_offs boolean[]
-- @param routes int[]
-- @param nows bigint[]
-- @param froms bigint[]
-- @param dues bigint[]
-- @param start_ats bigint[]
-- @param far_ms bigint
-- @param zone_data text
-- @param min_interval int
-- @param max_jobs int
-- @param per_second float8
-- @param look boolean
-- @param key_places int[]
-- @param keys text[]
-- @param requests bytea[]
-- @param heads text[]
-- @param unserved text[]
-- @param tails text[]
-- @param locations text[]
-- @param job_ids text[]
-- @param callers int[]
-- @param actors text[]
-- @param actor_keys uuid[]
-- @param actions text[]
-- @param request_ids text[]
WITH input AS MATERIALIZED (
  SELECT *
  FROM unnest(:uuids, :partitions, :names, :definitions, :one_offs, :routes, :nows, :froms, :dues, :start_ats,
              :job_ids, :callers)
    WITH ORDINALITY AS i (id, partition, name, definition, one_off, route, now, from_ms, due, start_at, job_id, caller, place)
),
terms AS MATERIALIZED (
  SELECT coalesce(max_jobs, :max_jobs) AS max_jobs, coalesce(create_per_second, :per_second) AS per_second,
         min_interval_seconds, min_interval_seconds IS NOT DISTINCT FROM :min_interval AS as_checked
  FROM carillon.tenants WHERE tenant = :tenant
),
keyed AS MATERIALIZED (
  SELECT k.*, a.request AS known_request, a.status, a.body, a.location AS known_location,
         CASE WHEN a.key IS NULL
              THEN pg_try_advisory_xact_lock(hashtextextended(k.key, :tenant)) END AS free
  FROM unnest(:key_places, :keys, :requests, :heads, :unserved, :tails, :locations)
    AS k (place, key, request, head, unserved, tail, location)
  -- Named once more: a plan that was made when there were few keys would read all of the tenant's for each statement.
  LEFT JOIN (
    SELECT * FROM carillon.idempotency_keys WHERE tenant = :tenant AND key = ANY (:keys)
  ) a ON a.key = k.key
),
wanted AS MATERIALIZED (
  SELECT input.*, row_number() OVER (ORDER BY input.place) AS turn
  FROM input LEFT JOIN keyed USING (place)
  WHERE (keyed.place IS NULL OR keyed.free) AND (SELECT as_checked FROM terms)
),
counted AS (
  UPDATE carillon.tenant_jobs c
  SET granted = carillon.creatable(asked.jobs, terms.max_jobs, c.jobs, terms.per_second, c.tokens, c.refilled_at),
      jobs = c.jobs
             + carillon.creatable(asked.jobs, terms.max_jobs, c.jobs, terms.per_second, c.tokens, c.refilled_at),
      tokens = coalesce(carillon.create_tokens(terms.per_second, c.tokens, c.refilled_at)
               - carillon.creatable(asked.jobs, terms.max_jobs, c.jobs, terms.per_second, c.tokens, c.refilled_at), 0),
      refilled_at = CASE WHEN terms.per_second IS NULL THEN 0 ELSE carillon.now_ms() END
  FROM terms, (SELECT count(*)::int AS jobs FROM wanted) asked
  WHERE c.tenant = :tenant AND asked.jobs > 0
  RETURNING c.granted, c.recounted_at, c.jobs >= terms.max_jobs AS full_up,
            CASE WHEN terms.per_second IS NOT NULL THEN greatest(0, 1 - c.tokens) / terms.per_second * 1000 END AS wait_ms
),
made AS (
  INSERT INTO carillon.jobs (id, tenant, partition, name, definition, one_off, route, effective_from, zone_data,
                             created_at, updated_at, changed_at)
  SELECT id, :tenant, partition, name, definition, one_off, route, from_ms, :zone_data, now, now,
         CASE WHEN start_at > now + :far_ms THEN 0 ELSE carillon.now_ms() END
  FROM wanted CROSS JOIN counted
  WHERE wanted.turn <= counted.granted
  ORDER BY wanted.turn
  ON CONFLICT (tenant, name) WHERE state IN ('active', 'paused') DO NOTHING
  RETURNING job, id, partition
),
timed AS (
  INSERT INTO carillon.timers (job, tenant, due, start_at, accounted_through, partition)
  SELECT made.job, :tenant, input.due, input.start_at, input.from_ms, made.partition
  FROM made JOIN input USING (id)
),
served AS MATERIALIZED (
  SELECT r.route, EXISTS (
           SELECT FROM carillon.incarnations i
           WHERE i.state = 'alive' AND 'worker' = ANY (i.roles)
             AND CASE r.kind WHEN 'task' THEN r.name = ANY (i.tasks) WHEN 'command' THEN i.commands ELSE true END
             AND (i.tenant IS NULL OR (i.tenant = r.tenant AND r.kind = 'task'))
         ) AS served
  FROM carillon.routes r
  WHERE :look AND r.route = ANY (:routes) AND r.tenant = :tenant
),
kept AS (
  INSERT INTO carillon.idempotency_keys (tenant, key, request, status, body, location)
  SELECT :tenant, keyed.key, keyed.request, 201,
         keyed.head || CASE WHEN served.served THEN '' ELSE keyed.unserved END || keyed.tail, keyed.location
  FROM made JOIN input USING (id) JOIN keyed USING (place) JOIN served USING (route)
),
-- Who registered it: calls of several people may share the statement. Where nobody is calling, nothing is noted.
audited AS (
  INSERT INTO carillon.audit_log (tenant, actor, actor_key, action, subject, detail, request_id)
  SELECT :tenant, c.actor, c.actor_key, c.action, input.job_id, jsonb_build_object('name', input.name), c.request_id
  FROM made JOIN input USING (id)
  JOIN unnest(:actors, :actor_keys, :actions, :request_ids)
    WITH ORDINALITY AS c (actor, actor_key, action, request_id, caller) ON c.caller = input.caller
)
SELECT input.place,
       CASE WHEN NOT terms.as_checked THEN 'other_terms'
            WHEN keyed.known_request IS NOT NULL THEN 'known'
            WHEN NOT keyed.free THEN 'key_in_use'
            WHEN made.id IS NOT NULL THEN 'created'
            WHEN counted.granted IS NULL THEN 'uncounted'
            WHEN wanted.turn <= counted.granted THEN 'taken'
            WHEN counted.full_up THEN 'over_quota'
            ELSE 'over_rate'
       END AS outcome,
       served.served, terms.min_interval_seconds AS min_interval, terms.max_jobs, counted.wait_ms,
       counted.recounted_at,
       keyed.known_request, keyed.status AS known_status, keyed.body AS known_body, keyed.known_location
FROM input
CROSS JOIN terms
LEFT JOIN counted ON true
LEFT JOIN wanted ON wanted.place = input.place
LEFT JOIN keyed ON keyed.place = input.place
LEFT JOIN made ON made.id = input.id
LEFT JOIN served ON served.route = input.route
