-- The operator's order that is in force now, if any. Plain read of one row.
SELECT window_factor, catch_up_factor FROM carillon.brake WHERE ends_at > carillon.now_ms()
