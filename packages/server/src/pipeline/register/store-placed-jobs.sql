-- Registers jobs of one tenant with their timers, for which places in its quota were taken (take-places.sql), all by one actor. Every name
-- is taken for free, as in create-fresh-jobs.sql: one that is not fails the statement (jobs_live_name), and nothing is done. Nothing
-- is done either (not `counted`) where the tenant's jobs were counted since the places were taken: these are gone then.
-- Locks: the tenant's counter FOR KEY SHARE, until the commit. Statements like this one, and those that change the counter, go on beside it;
-- a count (close-job-count.sql) waits for it, and so sees its jobs, or comes first and is seen by it. Two statements that
-- register the same names in another order may deadlock: Postgres ends one of them, and it is sent again.
-- Columns are taken apart where they are used, in the list of what is selected: in FROM, each would be written to a store of its own and read from
-- there, and once more in the part that both tables are filled from. They are equally long.
-- Index: tenant_jobs_pkey, jobs_live_name.
-- @param tenant int
-- @param counted_at bigint
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
-- @param first_id text
-- @param actor text
-- @param actor_key uuid
-- @param action text
-- @param request_id text
WITH held AS MATERIALIZED (
  SELECT c.tenant FROM carillon.tenant_jobs c WHERE c.tenant = :tenant AND c.recounted_at = :counted_at FOR KEY SHARE
),
-- Before the jobs are stored, so that their timers need not look for them.
numbered AS MATERIALIZED (
  SELECT ARRAY(SELECT nextval('carillon.job_numbers') FROM generate_series(1, cardinality(:uuids))) AS jobs FROM held
),
made AS (
  INSERT INTO carillon.jobs (job, id, tenant, partition, name, definition, one_off, route, effective_from, zone_data,
                             created_at, updated_at, changed_at)
  SELECT job, id, :tenant, partition, name, definition, one_off, route, from_ms, :zone_data, now, now,
         CASE WHEN start_at > now + :far_ms THEN 0 ELSE (SELECT carillon.now_ms()) END
  FROM (
    SELECT unnest(jobs) AS job, unnest(:uuids) AS id, unnest(:partitions) AS partition, unnest(:names) AS name,
           unnest(:definitions) AS definition, unnest(:one_offs) AS one_off, unnest(:routes) AS route, unnest(:nows) AS now,
           unnest(:froms) AS from_ms, unnest(:start_ats) AS start_at
    FROM numbered
  ) input
),
timed AS (
  INSERT INTO carillon.timers (job, tenant, due, start_at, accounted_through, partition)
  SELECT job, :tenant, due, start_at, from_ms, partition
  FROM (
    SELECT unnest(jobs) AS job, unnest(:partitions) AS partition, unnest(:froms) AS from_ms, unnest(:dues) AS due,
           unnest(:start_ats) AS start_at
    FROM numbered
  ) input
),
audited AS (
  INSERT INTO carillon.audit_log (tenant, actor, actor_key, action, subject, request_id, jobs, names, first_job, last_job)
  SELECT :tenant, :actor, :actor_key, :action, :first_id, :request_id, :uuids, :names, (:uuids)[1],
         (:uuids)[cardinality(:uuids)]
  FROM held
)
SELECT EXISTS (SELECT FROM held) AS counted
