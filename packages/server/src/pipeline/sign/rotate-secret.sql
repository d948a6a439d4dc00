-- Puts a new secret in the place of the current one, which goes on signing beside it for `overlap_ms`. Under lock-secrets.sql,
-- in a statement after it, so that it sees what the rotation before did. Changes nothing, and answers nothing, where more than
-- `most` would sign at once. The insert reads from the update, so the place of the current one is free when it is taken.
-- Index: the primary key, signing_secrets_current. Locks: the current one.
-- @param tenant int
-- @param id uuid
-- @param secret bytea
-- @param overlap_ms bigint
-- @param most int
WITH retiring AS MATERIALIZED (
  SELECT count(*) AS live FROM carillon.signing_secrets
  WHERE tenant = :tenant AND retires_at > carillon.now_ms()
),
retired AS (
  UPDATE carillon.signing_secrets s SET retires_at = carillon.now_ms() + :overlap_ms
  FROM retiring
  WHERE s.tenant = :tenant AND s.retires_at IS NULL
    AND retiring.live + 1 + CASE WHEN :overlap_ms > 0 THEN 1 ELSE 0 END <= :most
  RETURNING s.tenant
)
INSERT INTO carillon.signing_secrets (tenant, id, secret)
SELECT tenant, :id, :secret FROM retired
RETURNING id, secret, created_at, retires_at
