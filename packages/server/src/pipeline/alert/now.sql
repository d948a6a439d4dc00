-- The instant that it is, by the database's clock. Takes nothing.
SELECT carillon.now_ms() AS now
