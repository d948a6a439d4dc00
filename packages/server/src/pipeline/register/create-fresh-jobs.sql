-- Registers jobs of one tenant with their timers, as create-jobs.sql does, where nobody has an idempotency key and every name
-- is free: a name that is taken fails the statement (jobs_live_name), nothing is done, and create-jobs.sql is sent instead. What
-- that one has to find out for each job is known here for all: the first `granted` are created, the others are not. Numbers are
-- given to the jobs before they are stored, so that their timers and the audit need not look for them.
-- One row comes back: granted NULL where the tenant has no counter yet, or its own limits are not those of the check.
-- `served`: those of the routes that live workers serve, where `look`.
-- Locks: the tenant's counter, which puts statements of one tenant in a line. Index: tenant_jobs_pkey, jobs_live_name.
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
-- @param actors text[]
-- @param actor_keys uuid[]
-- @param actions text[]
-- @param request_ids text[]
WITH terms AS MATERIALIZED (
  SELECT coalesce(max_jobs, :max_jobs) AS max_jobs, coalesce(create_per_second, :per_second) AS per_second,
         min_interval_seconds, min_interval_seconds IS NOT DISTINCT FROM :min_interval AS as_checked
  FROM carillon.tenants WHERE tenant = :tenant
),
counted AS (
  UPDATE carillon.tenant_jobs c
  SET granted = carillon.creatable(cardinality(:uuids), terms.max_jobs, c.jobs, terms.per_second, c.tokens, c.refilled_at),
      jobs = c.jobs
             + carillon.creatable(cardinality(:uuids), terms.max_jobs, c.jobs, terms.per_second, c.tokens, c.refilled_at),
      tokens = coalesce(carillon.create_tokens(terms.per_second, c.tokens, c.refilled_at)
               - carillon.creatable(cardinality(:uuids), terms.max_jobs, c.jobs, terms.per_second, c.tokens, c.refilled_at), 0),
      refilled_at = CASE WHEN terms.per_second IS NULL THEN 0 ELSE carillon.now_ms() END
  FROM terms
  WHERE c.tenant = :tenant AND terms.as_checked
  RETURNING c.granted, c.recounted_at, c.jobs >= terms.max_jobs AS full_up,
            CASE WHEN terms.per_second IS NOT NULL THEN greatest(0, 1 - c.tokens) / terms.per_second * 1000 END AS wait_ms
),
input AS MATERIALIZED (
  SELECT i.*, nextval('carillon.job_numbers') AS job
  FROM unnest(:uuids, :partitions, :names, :definitions, :one_offs, :routes, :nows, :froms, :dues, :start_ats,
              :job_ids, :callers)
    WITH ORDINALITY AS i (id, partition, name, definition, one_off, route, now, from_ms, due, start_at, job_id, caller, place)
  WHERE i.place <= (SELECT granted FROM counted)
),
made AS (
  INSERT INTO carillon.jobs (job, id, tenant, partition, name, definition, one_off, route, effective_from, zone_data,
                             created_at, updated_at, changed_at)
  SELECT job, id, :tenant, partition, name, definition, one_off, route, from_ms, :zone_data, now, now,
         CASE WHEN start_at > now + :far_ms THEN 0 ELSE carillon.now_ms() END
  FROM input
),
timed AS (
  INSERT INTO carillon.timers (job, tenant, due, start_at, accounted_through, partition)
  SELECT job, :tenant, due, start_at, from_ms, partition FROM input
),
-- Who registered it: calls of several people may share the statement. Where nobody is calling, nothing is noted.
audited AS (
  INSERT INTO carillon.audit_log (tenant, actor, actor_key, action, subject, detail, request_id)
  SELECT :tenant, (:actors)[caller], (:actor_keys)[caller], (:actions)[caller], job_id, jsonb_build_object('name', name),
         (:request_ids)[caller]
  FROM input WHERE caller > 0
)
SELECT terms.as_checked, terms.min_interval_seconds AS min_interval, terms.max_jobs, counted.granted, counted.full_up,
       counted.wait_ms,
       CASE WHEN :look THEN ARRAY(
         SELECT r.route FROM carillon.routes r
         WHERE r.route = ANY (:routes) AND r.tenant = :tenant AND EXISTS (
           SELECT FROM carillon.incarnations i
           WHERE i.state = 'alive' AND 'worker' = ANY (i.roles)
             AND CASE r.kind WHEN 'task' THEN r.name = ANY (i.tasks) WHEN 'command' THEN i.commands ELSE true END
             AND (i.tenant IS NULL OR (i.tenant = r.tenant AND r.kind = 'task')))
       ) END AS served
FROM terms
LEFT JOIN counted ON true
