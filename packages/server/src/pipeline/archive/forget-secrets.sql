-- Forgets signing secrets that have retired: nothing is signed with them any more, and what is not kept cannot leak.
-- Index: signing_secrets_retiring. Lock: the rows it deletes.
-- @param most int
DELETE FROM carillon.signing_secrets s
USING (
  SELECT tenant, id FROM carillon.signing_secrets
  WHERE retires_at <= carillon.now_ms()
  ORDER BY retires_at
  LIMIT :most
) retired
WHERE s.tenant = retired.tenant AND s.id = retired.id
