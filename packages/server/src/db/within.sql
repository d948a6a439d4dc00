-- For the rest of the transaction: no statement takes longer than this. Takes no lock.
-- @param ms text
SELECT set_config('statement_timeout', :ms, true)
