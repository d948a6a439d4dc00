-- Takes places in a tenant's quota for jobs that a statement after this one stores (store-placed-jobs.sql), so that statements of one
-- tenant need not stand in a line at its counter: it is locked for this moment only. granted NULL: there is no counter yet, its own limits are
-- not those of the check (not `as_checked`), or it has a creation rate (`rated`), whose tokens could not be given back.
-- Nobody waits for the disk here: jobs that are stored under these places are later in the log, and kept only with them.
-- Lock: the counter. Index: tenant_jobs_pkey.
-- @param tenant int
-- @param places int
-- @param min_interval int
-- @param max_jobs int
WITH terms AS MATERIALIZED (
  SELECT coalesce(max_jobs, :max_jobs) AS max_jobs, create_per_second IS NOT NULL AS rated,
         min_interval_seconds, min_interval_seconds IS NOT DISTINCT FROM :min_interval AS as_checked
  FROM carillon.tenants WHERE tenant = :tenant
),
counted AS (
  UPDATE carillon.tenant_jobs c
  SET granted = carillon.creatable(:places, terms.max_jobs, c.jobs, NULL, c.tokens, c.refilled_at),
      jobs = c.jobs + carillon.creatable(:places, terms.max_jobs, c.jobs, NULL, c.tokens, c.refilled_at),
      tokens = 0,
      refilled_at = 0
  FROM terms
  WHERE c.tenant = :tenant AND terms.as_checked AND NOT terms.rated
  RETURNING c.granted, c.recounted_at, c.jobs >= terms.max_jobs AS full_up,
            set_config('synchronous_commit', 'off', true) AS unhurried
)
SELECT terms.as_checked, terms.rated, terms.min_interval_seconds AS min_interval, terms.max_jobs,
       counted.granted, counted.full_up, counted.recounted_at AS counted_at
FROM terms LEFT JOIN counted ON true
