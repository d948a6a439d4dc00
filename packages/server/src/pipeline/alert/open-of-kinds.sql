-- How many alerts of some kinds some tenants have open, and which of these fingerprints. Plain read.
-- Index: alerts_open, which holds the open ones only; a tenant has few of a kind (storm.ts).
-- @param tenants int[]
-- @param kinds text[]
-- @param fingerprints text[]
SELECT a.tenant, a.kind, count(*)::int AS open,
       coalesce(array_agg(a.fingerprint) FILTER (WHERE a.fingerprint = ANY (:fingerprints)), '{}') AS known
FROM carillon.alerts a
WHERE a.resolved_at IS NULL AND coalesce(a.tenant, 0) = ANY (:tenants) AND a.kind = ANY (:kinds)
GROUP BY a.tenant, a.kind
