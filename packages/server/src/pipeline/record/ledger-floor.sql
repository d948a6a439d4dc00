-- The instant of this look, and one before everything in the ledger: where its oldest day begins, or the oldest row of the
-- partition for what has no day (empty, as a rule). Plain read of the catalogue. Index: ledger_recorded.
SELECT carillon.now_ms() AS now,
       least((SELECT min(extract(epoch FROM to_date(substr(c.relname, 8), 'YYYYMMDD')::timestamp)::bigint * 1000)
              FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
              WHERE i.inhparent = 'carillon.ledger'::regclass AND c.relname ~ '^ledger_\d{8}$'),
             (SELECT min(recorded_at) FROM carillon.ledger_default),
             carillon.now_ms()) AS floor
