-- A person says that the host is well: what is parked leaves at the pace of a drain, and the breaker closes behind it.
-- Lock: the row.
-- @param tenant int
-- @param host text
UPDATE carillon.targets
SET state = 'draining', since = carillon.now_ms(), retry_at = NULL, openings = 0, attempts = 0, failures = 0,
    failures_in_row = 0, tokens = 1, tokens_at = carillon.now_ms(), watched_at = coalesce(watched_at, carillon.now_ms()),
    probe_at = NULL, probe_due = NULL, probe_job = NULL, probe_token = NULL
WHERE tenant = :tenant AND host = :host AND state <> 'closed'
RETURNING host
