-- The database's clock, and the first day that the ledger still has: NULL where no day was ever made. Plain read of the
-- catalogue.
SELECT carillon.now_ms() AS now,
       (SELECT extract(epoch FROM min(to_date(substr(c.relname, 8), 'YYYYMMDD')::timestamp AT TIME ZONE 'UTC'))::bigint * 1000
        FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'carillon.ledger'::regclass AND c.relname ~ '^ledger_\d{8}$') AS ledger_from
