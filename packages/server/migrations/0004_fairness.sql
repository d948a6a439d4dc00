-- Fair leasing: weights and caps of tenants, priorities, and a queue in which nobody scans past those who wait.

-- ── Tenants ──────────────────────────────────────────────────────────────────────────────────────────────────
-- A tenant's share of the workers, beside those of the others that have runs due.
ALTER TABLE carillon.tenants ADD COLUMN weight int NOT NULL DEFAULT 100 CHECK (weight BETWEEN 1 AND 10000);

-- A tenant with a cap has a row, another has none. `taken` is what workers hold of it: raised by a lease, lowered by
-- whatever ends one, in the same transaction. It may exceed a cap that was lowered: then nothing is leased until it fits.
ALTER TABLE carillon.tenant_slots DROP CONSTRAINT tenant_slots_check;
ALTER TABLE carillon.tenant_slots ADD CONSTRAINT tenant_slots_taken_check CHECK (taken >= 0);
ALTER TABLE carillon.tenant_slots SET (fillfactor = 50);

-- Sets how many runs of a tenant workers may hold at once; NULL: any number. The first count of what is held must miss no
-- lease or close in progress: the lock on the queue waits for them, and they wait for it. Rare, and short.
CREATE FUNCTION carillon.cap_tenant(capped int, most int) RETURNS void
  LANGUAGE plpgsql SET lock_timeout = '5s' AS $$
BEGIN
  IF most IS NULL THEN
    DELETE FROM carillon.tenant_slots WHERE tenant = capped;
    RETURN;
  END IF;
  UPDATE carillon.tenant_slots SET capacity = most WHERE tenant = capped;
  IF FOUND THEN
    RETURN;
  END IF;
  LOCK TABLE carillon.queue IN SHARE MODE;
  INSERT INTO carillon.tenant_slots (tenant, capacity, taken)
  SELECT capped, most, count(*) FROM carillon.queue WHERE tenant = capped AND holder IS NOT NULL
  ON CONFLICT (tenant) DO UPDATE SET capacity = excluded.capacity;
END $$;

-- ── Priority ─────────────────────────────────────────────────────────────────────────────────────────────────
-- A route is one lane of one tenant: what a worker must have, and how urgent it is. A queue row has its priority by its
-- route, so that priorities cost the queue neither a column nor an index, and a lane without runs costs one look.
UPDATE carillon.jobs SET definition = definition || '{"priority": 5}' WHERE definition IS NOT NULL;
UPDATE carillon.job_versions SET definition = definition || '{"priority": 5}';
ALTER TABLE carillon.routes
  ADD COLUMN priority smallint NOT NULL DEFAULT 5 CHECK (priority BETWEEN 0 AND 9),
  DROP CONSTRAINT routes_tenant_kind_name_key;
ALTER TABLE carillon.routes
  ADD CONSTRAINT routes_tenant_kind_name_priority_key UNIQUE (tenant, kind, name, priority);

-- ── Queue ────────────────────────────────────────────────────────────────────────────────────────────────────
-- A run that nobody holds is in one of two indexes: ready, or waiting for a place. Each insert still writes one entry.
DROP INDEX carillon.queue_ready;
CREATE INDEX queue_ready ON carillon.queue (route, available_at)
  WHERE holder IS NULL AND (places IS NULL OR slot >= 0);
CREATE INDEX queue_waiting ON carillon.queue (route, available_at)
  WHERE holder IS NULL AND places IS NOT NULL AND coalesce(slot, -1) < 0;
