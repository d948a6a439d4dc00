-- The instant of this look, and one before everything in the ledger: where its oldest day begins, or the oldest row before
-- that, which lies in the partition for what has no day (empty, as a rule). Plain read. Index: ledger_recorded.
WITH days AS MATERIALIZED (
  SELECT coalesce(min(extract(epoch FROM to_date(substr(c.relname, 8), 'YYYYMMDD')::timestamp)::bigint * 1000),
                  carillon.now_ms()) AS first
  FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
  WHERE i.inhparent = 'carillon.ledger'::regclass AND c.relname ~ '^ledger_\d{8}$'
)
SELECT carillon.now_ms() AS now,
       least(days.first, (SELECT min(recorded_at) FROM carillon.ledger WHERE recorded_at < (SELECT first FROM days)),
             carillon.now_ms()) AS floor
FROM days
