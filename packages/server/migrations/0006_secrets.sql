-- Signing secrets have a name that may be shown, and one per tenant is the current one. The secret itself leaves the key:
-- a message about a violated key quotes its columns.
ALTER TABLE carillon.signing_secrets ADD COLUMN id uuid NOT NULL DEFAULT gen_random_uuid();
ALTER TABLE carillon.signing_secrets ALTER COLUMN id DROP DEFAULT;
ALTER TABLE carillon.signing_secrets DROP CONSTRAINT signing_secrets_pkey;
ALTER TABLE carillon.signing_secrets ADD PRIMARY KEY (tenant, id);

UPDATE carillon.signing_secrets s SET retires_at = carillon.now_ms()
WHERE retires_at IS NULL AND EXISTS (
  SELECT FROM carillon.signing_secrets newer
  WHERE newer.tenant = s.tenant AND newer.retires_at IS NULL
    AND (newer.created_at, newer.id) > (s.created_at, s.id)
);
-- Processes that start at once all want to make the first one: the index lets one of them.
CREATE UNIQUE INDEX signing_secrets_current ON carillon.signing_secrets (tenant) WHERE retires_at IS NULL;
CREATE INDEX signing_secrets_retiring ON carillon.signing_secrets (retires_at) WHERE retires_at IS NOT NULL;

-- ── Commands ─────────────────────────────────────────────────────────────────────────────────────────────────
-- Whether its worker runs commands: a run that waits for one that does can say so.
ALTER TABLE carillon.incarnations ADD COLUMN commands boolean NOT NULL DEFAULT false;
