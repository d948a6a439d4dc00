-- The clock, and up to where the ledger is counted. Plain read of one row.
SELECT carillon.now_ms() AS now, through FROM carillon.counted
