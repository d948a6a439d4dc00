-- Drops ledger days past the retention: whole partitions, never a mass delete. Takes the parent's lock for a moment;
-- fails (55P03) rather than wait for a reader.
-- @param retention_days int
SELECT carillon.drop_ledger_days((to_timestamp(carillon.now_ms() / 1000.0) AT TIME ZONE 'UTC')::date - :retention_days) AS dropped
WHERE pg_try_advisory_xact_lock(hashtextextended('carillon ledger days', 0))
