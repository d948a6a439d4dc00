-- Whether somebody could get in where keys are needed: a key of an admin of the fleet that opens now. Plain read of few rows.
-- @param tenant int
SELECT EXISTS (
  SELECT FROM carillon.api_keys
  WHERE tenant = :tenant AND role = 'admin' AND revoked_at IS NULL
    AND (expires_at IS NULL OR expires_at > carillon.now_ms())
) AS present
