-- A request that can never be done: kept for a day with the reason, for people. Lock: the row. Index: the primary key.
-- @param entry bigint
-- @param error text
UPDATE carillon.outbox SET refused_at = carillon.now_ms(), error = :error
WHERE entry = :entry AND done_at IS NULL
RETURNING entry
