-- Breakers that are not closed, and events that say so, which may be of breakers that are closed by now. Plain read; both are few.
-- Index: alerts_open.
SELECT coalesce(t.tenant, a.tenant) AS tenant, coalesce(t.host, a.subject) AS host, t.state, t.since, t.retry_at, t.last_error,
       a.alert IS NOT NULL AS told
FROM (SELECT * FROM carillon.targets WHERE state <> 'closed') t
FULL JOIN (SELECT * FROM carillon.alerts WHERE kind = 'breaker_open' AND resolved_at IS NULL) a
  ON a.tenant = t.tenant AND a.subject = t.host
