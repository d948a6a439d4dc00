-- A request that can never be done: kept for a day with the reason, for people. No row: it was done, by another one who had
-- it meanwhile; that its name is taken is then by its own job. Lock: the row. Index: the primary key, jobs_id_key.
-- @param entry bigint
-- @param error text
UPDATE carillon.outbox o SET refused_at = carillon.now_ms(), error = :error
WHERE o.entry = :entry AND o.done_at IS NULL AND o.refused_at IS NULL
  AND NOT EXISTS (SELECT FROM carillon.jobs j WHERE j.id = o.id)
RETURNING o.entry
