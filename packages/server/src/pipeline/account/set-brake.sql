-- Sets the brake, or changes it: there is one row. The end is judged by the database's clock, which also says when it
-- has come; an end that is past, or further away than allowed, sets nothing. Lock: that row.
-- @param window_factor float8
-- @param catch_up_factor float8
-- @param reason text
-- @param for_ms bigint
-- @param until bigint
-- @param longest_ms bigint
INSERT INTO carillon.brake (window_factor, catch_up_factor, reason, set_at, ends_at)
SELECT :window_factor, :catch_up_factor, :reason, carillon.now_ms(), wanted.ends_at
FROM (SELECT coalesce(:until, carillon.now_ms() + :for_ms) AS ends_at) wanted
WHERE wanted.ends_at > carillon.now_ms() AND wanted.ends_at <= carillon.now_ms() + :longest_ms
ON CONFLICT (one) DO UPDATE
SET window_factor = EXCLUDED.window_factor, catch_up_factor = EXCLUDED.catch_up_factor, reason = EXCLUDED.reason,
    set_at = EXCLUDED.set_at, ends_at = EXCLUDED.ends_at
RETURNING window_factor, catch_up_factor, reason, set_at, ends_at
