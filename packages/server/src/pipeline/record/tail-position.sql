-- Where the ledger stands at this look: which transactions it shows, and the instant. Takes no lock.
SELECT pg_current_snapshot()::text AS snapshot, carillon.now_ms() AS now
