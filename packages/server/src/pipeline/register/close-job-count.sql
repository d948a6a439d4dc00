-- Waits for the statements that store jobs under places which were taken before (store-placed-jobs.sql), and keeps new ones
-- waiting. Runs in the transaction of lock-job-count.sql and after it. Lock: the counter FOR UPDATE. Index: tenant_jobs_pkey.
-- @param tenant int
SELECT tenant FROM carillon.tenant_jobs WHERE tenant = :tenant FOR UPDATE
