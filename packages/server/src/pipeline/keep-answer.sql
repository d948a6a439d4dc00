-- Keeps an answer under an idempotency key. Fails on the primary key where there is one already: what was done in the same
-- transaction is undone. Index: idempotency_keys_pkey.
-- @param tenant int
-- @param key text
-- @param request bytea
-- @param status smallint
-- @param body text
-- @param location text
INSERT INTO carillon.idempotency_keys (tenant, key, request, status, body, location)
VALUES (:tenant, :key, :request, :status, :body, :location)
RETURNING key
