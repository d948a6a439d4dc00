-- The brake, where one is in force: a row whose end has come counts as none. Plain read of one row.
SELECT window_factor, catch_up_factor, reason, set_at, ends_at
FROM carillon.brake
WHERE ends_at > carillon.now_ms()
