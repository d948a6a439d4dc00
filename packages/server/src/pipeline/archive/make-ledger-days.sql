-- Makes the ledger's partitions ahead of time: yesterday's (rows of a moment ago), today's and the next days'. One
-- process at a time; the others find them made. Fails (55P03) rather than wait for a reader of the default partition.
-- @param days_ahead int
SELECT count(*) FILTER (WHERE carillon.make_ledger_day(day))::int AS made
FROM (
  SELECT (to_timestamp(carillon.now_ms() / 1000.0) AT TIME ZONE 'UTC')::date + offset_days AS day
  FROM generate_series(-1, :days_ahead) AS offset_days
  WHERE pg_try_advisory_xact_lock(hashtextextended('carillon ledger days', 0))
) days
