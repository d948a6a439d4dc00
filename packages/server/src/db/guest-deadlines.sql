-- How long a statement, and a pause between two, may take from here to the end of this transaction. Touches no table.
-- @param ms text
SELECT set_config('statement_timeout', :ms, true), set_config('idle_in_transaction_session_timeout', :ms, true)
