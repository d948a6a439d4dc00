-- What a review found.

-- ── Enqueuing ────────────────────────────────────────────────────────────────────────────────────────────────
-- A request has an id of its own, and its key in a column of its own. An id that came from the key met the job of an earlier
-- day, and the request was taken for done; and another request under the same key was swallowed.

ALTER TABLE carillon.outbox
  ADD COLUMN key uuid,                              -- a hash of tenant, kind and the caller's key; NULL without one
  ADD COLUMN request bytea,                         -- a hash of what was asked for under the key
  ADD COLUMN login name,                            -- who asked: the audit names it. NULL: not known
  ADD COLUMN tries int NOT NULL DEFAULT 0;          -- how often it was claimed: each time for longer
ALTER TABLE carillon.outbox ALTER COLUMN login SET DEFAULT session_user;
UPDATE carillon.outbox SET key = id WHERE keyed;
-- What waits under an id that an earlier job has would be taken for done.
UPDATE carillon.outbox o SET id = gen_random_uuid()
WHERE o.keyed AND o.job IS NULL AND o.done_at IS NULL AND o.refused_at IS NULL
  AND EXISTS (SELECT FROM carillon.jobs j WHERE j.id = o.id AND j.created_at < o.created_at - 60000);
ALTER TABLE carillon.outbox DROP CONSTRAINT outbox_tenant_id_key, DROP COLUMN keyed;
-- A key stands for one request of one job; one that was refused has done nothing, and its key is free again.
CREATE UNIQUE INDEX outbox_keys ON carillon.outbox (tenant, key, coalesce(job, 0)) WHERE key IS NOT NULL AND refused_at IS NULL;
-- By tenant: the backlog of one must not keep others from their turn.
DROP INDEX carillon.outbox_waiting;
CREATE INDEX outbox_waiting ON carillon.outbox (tenant, claimed_until, entry) WHERE done_at IS NULL AND refused_at IS NULL;

DROP FUNCTION carillon.put_in_outbox(int, text, bigint, jsonb, bigint);
-- Notes a request, once for each key. Not for callers: the two functions below say for which tenant. `asked` is what is the
-- same whenever the request is repeated.
CREATE FUNCTION carillon.put_in_outbox(for_tenant int, key text, triggered bigint, said jsonb, due_at bigint, asked text)
  RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
  digest text := encode(sha256(convert_to(for_tenant || ' ' || (triggered IS NULL)::text || ' ' || key, 'UTF8')), 'hex');
  hashed uuid := overlay(overlay(left(digest, 32) PLACING '8' FROM 13) PLACING '8' FROM 17)::uuid;
  wanted bytea := sha256(convert_to(asked, 'UTF8'));
  known  record;
  made   uuid;
BEGIN
  IF length(key) NOT BETWEEN 1 AND 255 THEN
    RAISE invalid_parameter_value USING MESSAGE = 'carillon: idempotency_key has to have 1 to 255 characters.';
  END IF;
  -- A key holds for a day from its request on; whether the upkeep has been there since makes no difference.
  DELETE FROM carillon.outbox o
  WHERE o.tenant = for_tenant AND o.key = hashed AND coalesce(o.job, 0) = coalesce(triggered, 0) AND o.refused_at IS NULL
    AND o.done_at IS NOT NULL AND o.created_at <= carillon.now_ms() - 86400000;
  LOOP
    -- Waits for a transaction that notes the same key at this moment.
    INSERT INTO carillon.outbox AS o (tenant, id, job, definition, due, key, request)
    VALUES (for_tenant, gen_random_uuid(), triggered, said, due_at, hashed, CASE WHEN hashed IS NOT NULL THEN wanted END)
    ON CONFLICT DO NOTHING
    RETURNING o.id INTO made;
    IF made IS NOT NULL THEN
      RETURN made;
    END IF;
    SELECT o.id, o.request INTO known FROM carillon.outbox o
    WHERE o.tenant = for_tenant AND o.key = hashed AND coalesce(o.job, 0) = coalesce(triggered, 0) AND o.refused_at IS NULL;
    -- Refused or forgotten in between: the key is free.
    CONTINUE WHEN NOT FOUND;
    IF known.request <> wanted THEN
      RAISE invalid_parameter_value USING
        MESSAGE = format('carillon: the idempotency_key "%s" stands for another request.', key),
        HINT = 'One key is one request, to the letter, for a day: give each request a key of its own, or repeat the first unchanged.';
    END IF;
    RETURN known.id;
  END LOOP;
END $$;

CREATE OR REPLACE FUNCTION carillon.enqueue_task(task text, payload jsonb DEFAULT NULL, at timestamptz DEFAULT NULL,
                                                 delay interval DEFAULT NULL, idempotency_key text DEFAULT NULL,
                                                 options jsonb DEFAULT '{}')
  RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  problem text;
  due_at  bigint;
BEGIN
  IF NOT isfinite(at) THEN
    RAISE invalid_parameter_value USING MESSAGE = 'carillon.enqueue_task: at has to be an instant.';
  END IF;
  due_at := coalesce(floor(extract(epoch FROM at) * 1000)::bigint,
                     carillon.now_ms() + ceil(extract(epoch FROM coalesce(delay, '0')) * 1000)::bigint);
  problem := CASE
    WHEN task IS NULL OR length(task) NOT BETWEEN 1 AND 200 THEN 'task has to have 1 to 200 characters'
    WHEN at IS NOT NULL AND delay IS NOT NULL THEN 'give at or delay, not both'
    WHEN due_at > carillon.now_ms() + 366 * 86400000::bigint THEN 'it may be due a year ahead at most'
    -- Its transaction may take a while: what is taken here is still in time when it is registered.
    WHEN due_at < carillon.now_ms() - 365 * 86400000::bigint THEN 'it may have been due a year ago at most'
    WHEN octet_length(payload::text) > 1000000 THEN 'payload is larger than 1 MB'
    WHEN jsonb_typeof(options) IS DISTINCT FROM 'object' THEN 'options has to be an object'
    WHEN options - '{name,max_retries,timeout_seconds,priority}'::text[] <> '{}' THEN
      'options knows name, max_retries, timeout_seconds and priority, not '
        || (SELECT string_agg(key, ', ') FROM jsonb_object_keys(options - '{name,max_retries,timeout_seconds,priority}'::text[]) AS key)
    WHEN options ? 'name' AND (jsonb_typeof(options -> 'name') <> 'string' OR length(options ->> 'name') NOT BETWEEN 1 AND 200)
      THEN 'options.name has to be a text of 1 to 200 characters'
    WHEN NOT carillon.is_count(options -> 'max_retries', 0, 100) THEN 'options.max_retries has to be 0 to 100'
    WHEN NOT carillon.is_count(options -> 'timeout_seconds', 1, 86400) THEN 'options.timeout_seconds has to be 1 to 86400'
    WHEN NOT carillon.is_count(options -> 'priority', 0, 9) THEN 'options.priority has to be 0 to 9'
  END;
  IF problem IS NOT NULL THEN
    RAISE invalid_parameter_value USING MESSAGE = 'carillon.enqueue_task: ' || problem || '.';
  END IF;
  RETURN carillon.job_name_of(carillon.put_in_outbox(
    carillon.enqueuing_tenant(), idempotency_key, NULL,
    options || jsonb_build_object('task', task, 'payload', payload), due_at,
    -- As it was asked for: an instant that is counted from now is another one at every repetition.
    jsonb_build_array(task, payload, extract(epoch FROM at), extract(epoch FROM delay), options)::text));
END $$;

CREATE OR REPLACE FUNCTION carillon.enqueue_trigger(job text, idempotency_key text DEFAULT NULL)
  RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  owner int := carillon.enqueuing_tenant();
  wanted record;
BEGIN
  SELECT j.job, j.id INTO wanted FROM carillon.jobs j
  WHERE j.tenant = owner AND j.name = enqueue_trigger.job AND j.state IN ('active', 'paused');
  IF NOT FOUND THEN
    RAISE invalid_parameter_value USING MESSAGE = format('carillon.enqueue_trigger: there is no live job named "%s".', left(job, 200));
  END IF;
  PERFORM carillon.put_in_outbox(owner, idempotency_key, wanted.job, NULL, NULL, '');
  RETURN carillon.job_name_of(wanted.id);
END $$;

-- ── Creating and deleting ────────────────────────────────────────────────────────────────────────────────────
-- Before the update here, too: who creates holds the counter and then waits for whoever is changing the job of the same name.
-- After it, who deletes had changed the job and then waited for the counter: each for the other.
DROP TRIGGER jobs_given_up ON carillon.jobs;
CREATE TRIGGER jobs_given_up BEFORE UPDATE OF state ON carillon.jobs FOR EACH ROW
  WHEN (old.state IN ('active', 'paused') AND new.state NOT IN ('active', 'paused', 'ended'))
  EXECUTE FUNCTION carillon.count_job('-1');

-- ── Counts ───────────────────────────────────────────────────────────────────────────────────────────────────
-- One row of the ledger may stand for two thousand million ticks: two of them were more than the count could hold, and a
-- count that fails is nobody's.
ALTER TABLE carillon.run_counts ALTER COLUMN runs TYPE bigint, ALTER COLUMN first TYPE bigint;

-- ── Commands ─────────────────────────────────────────────────────────────────────────────────────────────────
-- Who may register jobs that run programs on the fleet's machines: the fleet's own people, and whom they allow it.
ALTER TABLE carillon.tenants ADD COLUMN allow_commands boolean NOT NULL DEFAULT false;
UPDATE carillon.tenants SET allow_commands = true WHERE name = 'default';
