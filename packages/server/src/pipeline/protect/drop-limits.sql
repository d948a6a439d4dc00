-- Takes all limits of a host away. What its breaker knows stays, and goes with the row when the host has been well for a while.
-- Lock: the row.
-- @param tenant int
-- @param host text
UPDATE carillon.targets
SET rate_per_second = NULL, burst = NULL, max_concurrent = NULL, timeout_seconds = NULL, drain_per_second = NULL,
    breaker_enabled = NULL, breaker_attempts = NULL, breaker_window_seconds = NULL, breaker_failure_ratio = NULL,
    breaker_failures_in_row = NULL, breaker_open_seconds = NULL, breaker_max_open_seconds = NULL, in_use = 0
WHERE tenant = :tenant AND host = :host
RETURNING host
