-- What stands in the way of a job that is not stored: another live job of its name, a tenant that has all the jobs that it may have,
-- no worker that could run it. Whoever asks is told what was so at this moment; storing it looks again under its locks. The jobs are
-- counted only where the counter, which may be too high and never too low, leaves no room. Plain read.
-- Index: jobs_live_name, tenants_pkey, tenant_jobs_pkey.
-- @param tenant int
-- @param name text
-- @param uuid uuid
-- @param max_jobs int
-- @param kind text
-- @param task text
SELECT EXISTS (
         SELECT FROM carillon.jobs
         WHERE tenant = :tenant AND name = :name AND state IN ('active', 'paused') AND id <> :uuid
       ) AS taken,
       coalesce(t.max_jobs, :max_jobs) AS max_jobs,
       CASE WHEN coalesce(c.jobs, 0) < coalesce(t.max_jobs, :max_jobs) THEN true
            ELSE (SELECT count(*) FROM carillon.jobs WHERE tenant = :tenant AND state IN ('active', 'paused'))
                 < coalesce(t.max_jobs, :max_jobs)
       END AS room,
       EXISTS (
         SELECT FROM carillon.incarnations i
         WHERE i.state = 'alive' AND 'worker' = ANY (i.roles)
           AND CASE :kind WHEN 'task' THEN :task = ANY (i.tasks) WHEN 'command' THEN i.commands ELSE true END
           AND (i.tenant IS NULL OR (i.tenant = :tenant AND :kind = 'task'))
       ) AS served
FROM carillon.tenants t
LEFT JOIN carillon.tenant_jobs c ON c.tenant = t.tenant
WHERE t.tenant = :tenant
