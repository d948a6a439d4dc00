-- Gives a key a new secret. The one before opens beside it for `overlap_ms`; one before that, at once no more. No row: there is
-- no such key, it has ended, or the new end has passed already. Lock: the row. Index: the primary key.
-- @param tenant int
-- @param id uuid
-- @param hash bytea
-- @param overlap_ms bigint
-- @param change_end boolean
-- @param expires_at bigint
UPDATE carillon.api_keys
SET previous_hash = CASE WHEN :overlap_ms > 0 THEN hash END,
    previous_expires_at = CASE WHEN :overlap_ms > 0 THEN carillon.now_ms() + :overlap_ms END,
    hash = :hash, rotated_at = carillon.now_ms(),
    expires_at = CASE WHEN :change_end THEN :expires_at ELSE expires_at END
WHERE tenant = :tenant AND key_id = :id AND revoked_at IS NULL
  AND (expires_at IS NULL OR expires_at > carillon.now_ms())
  AND (NOT :change_end OR :expires_at IS NULL OR :expires_at > carillon.now_ms())
RETURNING key_id, name, role, created_at, expires_at, revoked_at, rotated_at, previous_expires_at, carillon.now_ms() AS now
