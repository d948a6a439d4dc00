-- Commands are a route of their own, so that only workers that run commands lease them.
ALTER TABLE carillon.routes DROP CONSTRAINT routes_kind_check;
ALTER TABLE carillon.routes ADD CONSTRAINT routes_kind_check CHECK (kind IN ('http', 'task', 'command'));

-- ── Signing ──────────────────────────────────────────────────────────────────────────────────────────────────
-- Secrets that webhooks are signed with, per tenant. The newest signs; an older one signs beside it until it retires, so
-- that receivers have time to change over.
CREATE TABLE carillon.signing_secrets (
  tenant      int NOT NULL REFERENCES carillon.tenants,
  secret      bytea NOT NULL CHECK (octet_length(secret) BETWEEN 24 AND 64),
  created_at  bigint NOT NULL DEFAULT carillon.now_ms(),
  retires_at  bigint,
  PRIMARY KEY (tenant, secret)
);
