-- Which of these hashes still open: asked for those whose answers go on. Plain read, one look into an index for each.
-- Index: api_keys_hash_key, api_keys_previous_hash_key.
-- @param hashes bytea[]
SELECT h.hash
FROM unnest(:hashes) AS h (hash)
WHERE EXISTS (
  SELECT FROM carillon.api_keys k
  WHERE (k.hash = h.hash OR (k.previous_hash = h.hash AND k.previous_expires_at > carillon.now_ms()))
    AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > carillon.now_ms())
)
