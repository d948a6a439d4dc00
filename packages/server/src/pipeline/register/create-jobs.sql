-- Registers jobs with their timers: both or neither. A job whose name a live job has is left out and does not come
-- back in the answer; the unique index jobs_live_name decides, also between two calls at once.
-- Set-based: one job or ten thousand are one statement. Ordered by name, so that two batches cannot deadlock.
-- @param uuids uuid[]
-- @param tenants int[]
-- @param partitions smallint[]
-- @param names text[]
-- @param definitions text[]
-- @param one_offs boolean[]
-- @param routes int[]
-- @param froms bigint[]
-- @param dues bigint[]
-- @param start_ats bigint[]
-- @param zone_data text
-- @param actors text[]
-- @param actor_keys uuid[]
-- @param actions text[]
-- @param details text[]
-- @param request_ids text[]
-- @param subjects text[]
WITH input AS MATERIALIZED (
  SELECT *
  FROM unnest(:uuids, :tenants, :partitions, :names, :definitions, :one_offs, :routes, :froms, :dues, :start_ats,
              :actors, :actor_keys, :actions, :details, :request_ids, :subjects)
    AS i (id, tenant, partition, name, definition, one_off, route, from_ms, due, start_at,
          actor, actor_key, action, detail, request_id, subject)
),
made AS (
  INSERT INTO carillon.jobs (id, tenant, partition, name, definition, one_off, route, effective_from, zone_data)
  SELECT id, tenant, partition, name, definition::jsonb, one_off, route, from_ms, :zone_data
  FROM input
  ORDER BY tenant, name
  ON CONFLICT (tenant, name) WHERE state IN ('active', 'paused') DO NOTHING
  RETURNING job, id, tenant, partition
),
timed AS (
  INSERT INTO carillon.timers (job, tenant, due, start_at, accounted_through, partition)
  SELECT made.job, made.tenant, input.due, input.start_at, input.from_ms, made.partition
  FROM made JOIN input USING (id)
),
-- Who registered it; where nobody is calling, nothing is noted.
audited AS (
  INSERT INTO carillon.audit_log (tenant, actor, actor_key, action, subject, detail, request_id)
  SELECT made.tenant, input.actor, input.actor_key, input.action, input.subject, input.detail::jsonb, input.request_id
  FROM made JOIN input USING (id)
  WHERE input.actor IS NOT NULL
)
SELECT made.id AS uuid FROM made
