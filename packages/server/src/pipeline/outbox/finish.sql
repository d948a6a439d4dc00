-- A request that was done: gone, or kept for a day where it has a key. No row: another one has finished it.
-- Lock: the row. Index: the primary key.
-- @param entry bigint
WITH gone AS (
  DELETE FROM carillon.outbox
  WHERE entry = :entry AND key IS NULL AND done_at IS NULL AND refused_at IS NULL
  RETURNING entry
),
kept AS (
  UPDATE carillon.outbox SET done_at = carillon.now_ms()
  WHERE entry = :entry AND key IS NOT NULL AND done_at IS NULL AND refused_at IS NULL
  RETURNING entry
)
SELECT entry FROM gone UNION ALL SELECT entry FROM kept
