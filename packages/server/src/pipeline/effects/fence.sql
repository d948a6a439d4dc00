-- Whether a run is still leased to this worker with this token: asked before the handler's first statement, in its own
-- transaction. Not what keeps a stale attempt from committing (the close in the same transaction does), so it takes no lock: one
-- held for as long as a handler works would hold up fires, deletes and rescues. Plain read; primary key.
-- @plan each-time
-- @param holder bigint
-- @param due bigint
-- @param job bigint
-- @param origin smallint
-- @param seq int
-- @param partition smallint
-- @param token bigint
SELECT q.token
FROM carillon.queue q
WHERE q.due = :due AND q.job = :job AND q.origin = :origin AND q.seq = :seq AND q.partition = :partition
  AND q.token = :token AND q.holder = :holder
