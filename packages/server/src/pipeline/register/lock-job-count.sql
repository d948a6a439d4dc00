-- Locks a tenant's counter for a recount, and makes it if there is none. No row comes back where one was made within
-- `every_ms`: a tenant at its quota that goes on asking must not have its jobs counted for each question.
-- Index: tenant_jobs_pkey.
-- @param tenant int
-- @param every_ms bigint
INSERT INTO carillon.tenant_jobs AS c (tenant, jobs) VALUES (:tenant, 0)
ON CONFLICT (tenant) DO UPDATE SET recounted_at = carillon.now_ms()
WHERE c.recounted_at <= carillon.now_ms() - :every_ms
RETURNING c.tenant
