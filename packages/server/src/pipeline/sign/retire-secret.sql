-- Ends a secret that retires, before its time. The current one stays: something has to sign. `current` says that it was the
-- one asked for; no row, that there is none of this id. Index: the primary key. Lock: the row it deletes.
-- @param tenant int
-- @param id uuid
WITH ended AS (
  DELETE FROM carillon.signing_secrets
  WHERE tenant = :tenant AND id = :id AND retires_at IS NOT NULL
)
SELECT retires_at IS NULL AS current
FROM carillon.signing_secrets
WHERE tenant = :tenant AND id = :id AND (retires_at IS NULL OR retires_at > carillon.now_ms())
