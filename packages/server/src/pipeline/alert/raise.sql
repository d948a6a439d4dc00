-- Raises alerts. One that is open is found again: counted, with what is known now. One that was over a short while ago is the same one,
-- open again: what flaps is one alert, and told once (route.ts). The unique index alerts_open decides, also between two processes; one
-- that reopened the row first leaves nothing to reopen, and the insert finds it open. A count stops at the largest that fits: one alert
-- may not keep all others from being raised. Lock: the rows, by fingerprint.
-- Index: alerts_open, alerts_over.
-- @param alerts jsonb
-- @param reopen_ms bigint
WITH given AS MATERIALIZED (
  SELECT DISTINCT ON (coalesce(g.tenant, 0), g.fingerprint) g.*, carillon.now_ms() AS now
  FROM jsonb_to_recordset(:alerts) AS g (tenant int, kind text, severity text, fingerprint text, subject text, detail jsonb,
                                         job bigint, mark bigint, found int)
  ORDER BY coalesce(g.tenant, 0), g.fingerprint
),
closed AS MATERIALIZED (
  SELECT last.alert, given.fingerprint, coalesce(given.tenant, 0) AS owner
  FROM given
  CROSS JOIN LATERAL (
    SELECT a.alert FROM carillon.alerts a
    WHERE coalesce(a.tenant, 0) = coalesce(given.tenant, 0) AND a.fingerprint = given.fingerprint
      AND a.resolved_at IS NOT NULL AND a.resolved_at > given.now - :reopen_ms
    ORDER BY a.resolved_at DESC
    LIMIT 1
  ) last
  WHERE NOT EXISTS (
    SELECT FROM carillon.alerts o
    WHERE coalesce(o.tenant, 0) = coalesce(given.tenant, 0) AND o.fingerprint = given.fingerprint AND o.resolved_at IS NULL)
),
reopened AS (
  UPDATE carillon.alerts a
  SET resolved_at = NULL, resolved_by = NULL, subject = given.subject, detail = given.detail, mark = given.mark,
      last_seen_at = given.now, count = least(a.count::bigint + coalesce(given.found, 1), 2147483647)::int, route_at = given.now
  FROM closed
  JOIN given ON given.fingerprint = closed.fingerprint AND coalesce(given.tenant, 0) = closed.owner
  WHERE a.alert = closed.alert AND a.resolved_at IS NOT NULL
  RETURNING a.alert, a.fingerprint, coalesce(a.tenant, 0) AS owner
),
raised AS (
  INSERT INTO carillon.alerts AS a (tenant, kind, severity, fingerprint, subject, detail, job, mark, count, raised_at,
                                    last_seen_at, route_at)
  SELECT tenant, kind, coalesce(severity, 'warning'), fingerprint, subject, detail, job, mark, coalesce(found, 1), now, now, now
  FROM given
  WHERE (coalesce(tenant, 0), fingerprint) NOT IN (SELECT owner, fingerprint FROM reopened)
  ORDER BY coalesce(tenant, 0), fingerprint
  ON CONFLICT (coalesce(tenant, 0), fingerprint) WHERE resolved_at IS NULL DO UPDATE
  SET last_seen_at = excluded.last_seen_at, count = least(a.count::bigint + excluded.count, 2147483647)::int,
      subject = excluded.subject, detail = excluded.detail, mark = coalesce(excluded.mark, a.mark)
  RETURNING a.alert
)
SELECT alert FROM reopened UNION ALL SELECT alert FROM raised
