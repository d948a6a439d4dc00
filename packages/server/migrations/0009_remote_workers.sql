-- Workers over HTTP: a life of their own in the cluster, and a time limit that the database keeps.

-- ── Incarnations ─────────────────────────────────────────────────────────────────────────────────────────────
-- A worker over HTTP is an incarnation as well: it leases, it dies once, its runs are rescued. It belongs to a tenant,
-- serves the tasks it names and nothing else, and is known by the name that it gives itself (`host`).
ALTER TABLE carillon.incarnations
  ADD COLUMN tenant int REFERENCES carillon.tenants,   -- NULL: a process of the fleet
  ALTER COLUMN pid DROP NOT NULL,
  ADD CHECK ((tenant IS NULL) = (pid IS NOT NULL)),
  ADD CHECK (tenant IS NULL OR (roles = '{worker}' AND NOT session_lock));

-- ── Queue ────────────────────────────────────────────────────────────────────────────────────────────────────
-- Until when a worker over HTTP may take over the attempt that it holds: nothing in the fleet watches over it as a worker
-- process does over its own. Of the last lease, and of no meaning without a holder: whatever ends a hold leaves it alone.
ALTER TABLE carillon.queue ADD COLUMN deadline bigint;
-- Only runs that such workers hold: what one of them has, and what is over its time.
CREATE INDEX queue_remote ON carillon.queue (holder, deadline) WHERE deadline IS NOT NULL AND holder IS NOT NULL;
