-- Ends a key for ever, with the secret before its last rotation. No row: there is none of this id, or it was revoked before.
-- Lock: the row. Index: the primary key.
-- @param tenant int
-- @param id uuid
UPDATE carillon.api_keys
SET revoked_at = carillon.now_ms(), previous_hash = NULL, previous_expires_at = NULL
WHERE tenant = :tenant AND key_id = :id AND revoked_at IS NULL
RETURNING name, role
