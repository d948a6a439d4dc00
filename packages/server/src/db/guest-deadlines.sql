-- How long a statement, and a pause between two, may take from here to the end of this transaction. Touches no table.
-- @param statement_ms text
-- @param pause_ms text
SELECT set_config('statement_timeout', :statement_ms, true),
       set_config('idle_in_transaction_session_timeout', :pause_ms, true)
