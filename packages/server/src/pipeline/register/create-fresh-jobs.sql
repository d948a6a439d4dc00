-- Registers jobs of one tenant with their timers, as create-jobs.sql does, where every name is free and every idempotency key is new:
-- a name that is taken fails the statement (jobs_live_name), and so does a key that has an answer (idempotency_keys_pkey); nothing is
-- done, and create-jobs.sql is sent instead. What that one has to find out for each job is known here for all: the first
-- `granted` are created, the others are not. Numbers are given to the jobs before they are stored, so that their timers and the
-- audit need not look for them.
-- One row comes back: granted NULL where the tenant has no counter yet, its own limits are not those of the check, or somebody is
-- at work under one of the keys (not `keys_free`).
-- `served`: those of the routes that live workers serve, where `look`. `keys` and what belongs to them: one for each job, '' for a
-- job without a key; or empty where nobody has one.
-- Locks: an advisory lock per key (never waited for), then the tenant's counter, which puts statements of one tenant in a line.
-- Index: tenant_jobs_pkey, jobs_live_name, idempotency_keys_pkey.
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
-- @param job_ids text[]
-- @param callers int[]
-- @param together boolean
-- @param actors text[]
-- @param actor_keys uuid[]
-- @param actions text[]
-- @param request_ids text[]
-- @param keys text[]
-- @param requests bytea[]
-- @param heads text[]
-- @param unserved text[]
-- @param tails text[]
-- @param locations text[]
WITH terms AS MATERIALIZED (
  SELECT coalesce(max_jobs, :max_jobs) AS max_jobs, coalesce(create_per_second, :per_second) AS per_second,
         min_interval_seconds, min_interval_seconds IS NOT DISTINCT FROM :min_interval AS as_checked
  FROM carillon.tenants WHERE tenant = :tenant
),
keyed AS MATERIALIZED (
  SELECT coalesce(bool_and(pg_try_advisory_xact_lock(hashtextextended(key, :tenant))), true) AS free
  FROM unnest(:keys) AS key
  WHERE key <> ''
),
counted AS (
  UPDATE carillon.tenant_jobs c
  SET granted = carillon.creatable(cardinality(:uuids), terms.max_jobs, c.jobs, terms.per_second, c.tokens, c.refilled_at),
      jobs = c.jobs
             + carillon.creatable(cardinality(:uuids), terms.max_jobs, c.jobs, terms.per_second, c.tokens, c.refilled_at),
      tokens = coalesce(carillon.create_tokens(terms.per_second, c.tokens, c.refilled_at)
               - carillon.creatable(cardinality(:uuids), terms.max_jobs, c.jobs, terms.per_second, c.tokens, c.refilled_at), 0),
      refilled_at = CASE WHEN terms.per_second IS NULL THEN 0 ELSE carillon.now_ms() END
  FROM terms, keyed
  WHERE c.tenant = :tenant AND terms.as_checked AND keyed.free
  RETURNING c.granted, c.recounted_at, c.jobs >= terms.max_jobs AS full_up,
            CASE WHEN terms.per_second IS NOT NULL THEN greatest(0, 1 - c.tokens) / terms.per_second * 1000 END AS wait_ms
),
input AS MATERIALIZED (
  SELECT i.*, nextval('carillon.job_numbers') AS job
  FROM unnest(:uuids, :partitions, :names, :definitions, :one_offs, :routes, :nows, :froms, :dues, :start_ats,
              :job_ids, :callers, :keys, :requests, :heads, :unserved, :tails, :locations)
    WITH ORDINALITY AS i (id, partition, name, definition, one_off, route, now, from_ms, due, start_at, job_id, caller,
                          key, request, head, unserved, tail, location, place)
  WHERE i.place <= (SELECT granted FROM counted)
),
made AS (
  INSERT INTO carillon.jobs (job, id, tenant, partition, name, definition, one_off, route, effective_from, zone_data,
                             created_at, updated_at, changed_at)
  SELECT job, id, :tenant, partition, name, definition, one_off, route, from_ms, :zone_data, now, now,
         CASE WHEN start_at > now + :far_ms THEN 0 ELSE (SELECT carillon.now_ms()) END
  FROM input
),
timed AS (
  INSERT INTO carillon.timers (job, tenant, due, start_at, accounted_through, partition)
  SELECT job, :tenant, due, start_at, from_ms, partition FROM input
),
served AS MATERIALIZED (
  SELECT CASE WHEN :look THEN ARRAY(
    SELECT r.route FROM carillon.routes r
    WHERE r.route = ANY (:routes) AND r.tenant = :tenant AND EXISTS (
      SELECT FROM carillon.incarnations i
      WHERE i.state = 'alive' AND 'worker' = ANY (i.roles)
        AND CASE r.kind WHEN 'task' THEN r.name = ANY (i.tasks) WHEN 'command' THEN i.commands ELSE true END
        AND (i.tenant IS NULL OR (i.tenant = r.tenant AND r.kind = 'task')))
  ) END AS routes
),
-- The answer to a call with a key, kept for those who repeat it.
kept AS (
  INSERT INTO carillon.idempotency_keys (tenant, key, request, status, body, location, created_at)
  SELECT :tenant, key, request, 201, head || CASE WHEN route = ANY (served.routes) THEN '' ELSE unserved END || tail, location,
         (SELECT carillon.now_ms())
  FROM input, served
  WHERE key <> ''
),
-- Who registered it: calls of several people may share the statement. Where nobody is calling, nothing is noted.
audited AS (
  INSERT INTO carillon.audit_log (tenant, at, actor, actor_key, action, subject, detail, request_id)
  SELECT :tenant, (SELECT carillon.now_ms()), (:actors)[caller], (:actor_keys)[caller], (:actions)[caller], job_id,
         jsonb_build_object('name', name), (:request_ids)[caller]
  FROM input WHERE caller > 0 AND NOT :together
),
-- All by one actor: one row stands for them. `job_ids` has the first one's only, `request_ids` one for each job or one for all.
audited_together AS (
  INSERT INTO carillon.audit_log (tenant, actor, actor_key, action, subject, request_id, jobs, names, requests, first_job,
                                  last_job)
  SELECT :tenant, (:actors)[1], (:actor_keys)[1], (:actions)[1], (:job_ids)[1], (:request_ids)[1],
         (:uuids)[1:granted], (:names)[1:granted],
         CASE WHEN cardinality(:request_ids) > 1 THEN (:request_ids)[1:granted] END, (:uuids)[1], (:uuids)[granted]
  FROM counted WHERE :together AND granted > 0
)
SELECT terms.as_checked, terms.min_interval_seconds AS min_interval, terms.max_jobs, keyed.free AS keys_free,
       counted.granted, counted.full_up, counted.wait_ms, served.routes AS served
FROM terms
CROSS JOIN keyed
CROSS JOIN served
LEFT JOIN counted ON true
