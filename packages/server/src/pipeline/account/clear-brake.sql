-- Takes the brake off, whether its end has come or not. Answers whether there was one. Lock: its one row.
DELETE FROM carillon.brake RETURNING ends_at > carillon.now_ms() AS was_on
