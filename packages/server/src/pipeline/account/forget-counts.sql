-- Drops counts that nobody asks for any more. Index: run_counts_old.
-- @param older_ms bigint
DELETE FROM carillon.run_counts WHERE at < carillon.now_ms() - :older_ms
RETURNING at
