-- Discards one dead letter. The ledger stays as it is: its final row already says what became of the tick.
-- Lock: the row; a re-drive of it that was first leaves nothing to discard. Index: dead_letters' primary key.
-- @param tenant int
-- @param due bigint
-- @param job bigint
-- @param origin smallint
-- @param seq int
-- @param partition smallint
DELETE FROM carillon.dead_letters
WHERE tenant = :tenant AND due = :due AND job = :job AND origin = :origin AND seq = :seq AND partition = :partition
RETURNING job
