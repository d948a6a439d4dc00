-- The schema as the migrations make it, to be read in one place and compared by a test. Not loaded by anything:
-- packages/server/migrations/ is what runs, and says why things are as they are. Made from the catalogues by
--   UPDATE_SCHEMA=1 npx vitest run --project db packages/server/test/db/schema.test.ts
-- The rows that a migration inserts, owners and privileges are not part of it.

CREATE EXTENSION IF NOT EXISTS pg_trgm SCHEMA public;

CREATE SCHEMA carillon;

SET check_function_bodies = off;

CREATE TYPE carillon.outcome AS ENUM ('success', 'failed', 'dead', 'stale', 'skipped', 'cancelled');

CREATE OR REPLACE FUNCTION carillon.cap_tenant(capped integer, most integer)
 RETURNS void
 LANGUAGE plpgsql
 SET lock_timeout TO '5s'
AS $function$
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
END $function$;

CREATE OR REPLACE FUNCTION carillon.count_job()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  UPDATE carillon.tenant_jobs SET jobs = greatest(0, jobs + TG_ARGV[0]::int) WHERE tenant = new.tenant;
  RETURN new;
END $function$;

CREATE OR REPLACE FUNCTION carillon.creatable(asked integer, max_jobs integer, jobs integer, per_second double precision, tokens double precision, refilled_at bigint)
 RETURNS integer
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$ SELECT least(asked, greatest(0, max_jobs - jobs),
                     CASE WHEN per_second IS NULL THEN asked
                          ELSE least(asked, floor(carillon.create_tokens(per_second, tokens, refilled_at)))::int END) $function$;

CREATE OR REPLACE FUNCTION carillon.create_tokens(per_second double precision, tokens double precision, refilled_at bigint)
 RETURNS double precision
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$ SELECT least(greatest(1, per_second), tokens + greatest(0, carillon.now_ms() - refilled_at) / 1000.0 * per_second) $function$;

CREATE OR REPLACE FUNCTION carillon.drop_ledger_days(before date)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET lock_timeout TO '250ms'
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
DECLARE
  child    text;
  dropped  int := 0;
BEGIN
  FOR child IN
    SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'carillon.ledger'::regclass AND c.relname ~ '^ledger_\d{8}$'
      AND to_date(substr(c.relname, 8), 'YYYYMMDD') < before
    ORDER BY 1
  LOOP
    EXECUTE format('DROP TABLE carillon.%I', child);
    dropped := dropped + 1;
  END LOOP;
  RETURN dropped;
END $function$;

CREATE OR REPLACE FUNCTION carillon.enqueue_task(task text, payload jsonb DEFAULT NULL::jsonb, at timestamp with time zone DEFAULT NULL::timestamp with time zone, delay interval DEFAULT NULL::interval, idempotency_key text DEFAULT NULL::text, options jsonb DEFAULT '{}'::jsonb)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
END $function$;

CREATE OR REPLACE FUNCTION carillon.enqueue_trigger(job text, idempotency_key text DEFAULT NULL::text)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
END $function$;

CREATE OR REPLACE FUNCTION carillon.enqueuing_tenant()
 RETURNS integer
 LANGUAGE sql
 STABLE
AS $function$
  SELECT coalesce((SELECT tenant FROM carillon.enqueuers WHERE login = session_user),
                  (SELECT tenant FROM carillon.tenants WHERE name = 'default'))
$function$;

CREATE OR REPLACE FUNCTION carillon.ensure_roles()
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE
  wanted     text;
  statements text := format('CREATE ROLE carillon_fleet NOLOGIN; CREATE ROLE carillon_api NOLOGIN; '
                            'GRANT carillon_fleet, carillon_api TO %I;', current_user);
BEGIN
  FOREACH wanted IN ARRAY ARRAY['carillon_fleet', 'carillon_api'] LOOP
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = wanted) THEN
      BEGIN
        EXECUTE format('CREATE ROLE %I NOLOGIN', wanted);
      EXCEPTION WHEN duplicate_object OR unique_violation THEN
        NULL;
      END;
    END IF;
    -- By inheritance, so that migrations and tools of this login see every tenant, too. A superuser needs no grant.
    IF NOT pg_has_role(current_user, wanted, 'USAGE') THEN
      BEGIN
        EXECUTE format('GRANT %I TO %I', wanted, current_user);
      EXCEPTION WHEN unique_violation OR internal_error THEN
        NULL; -- "tuple concurrently updated": another database gave the same grant
      END;
    END IF;
    IF NOT pg_has_role(current_user, wanted, 'USAGE') THEN
      RAISE insufficient_privilege USING MESSAGE = format('the login %I does not inherit from %I', current_user, wanted);
    END IF;
  END LOOP;
  IF EXISTS (SELECT FROM pg_roles WHERE rolname IN ('carillon_fleet', 'carillon_api') AND (rolsuper OR rolbypassrls))
     OR pg_has_role('carillon_api', 'carillon_fleet', 'MEMBER') THEN
    RAISE EXCEPTION 'The roles carillon_fleet and carillon_api must be neither SUPERUSER nor BYPASSRLS, and carillon_api '
                    'must not be a member of carillon_fleet: row-level security would be no wall.';
  END IF;
EXCEPTION WHEN insufficient_privilege THEN
  RAISE insufficient_privilege USING
    MESSAGE = format('The login %I cannot make the roles that servers work as (%s). An administrator of this Postgres '
                     'has to run once: %s', current_user, SQLERRM, statements);
END $function$;

CREATE OR REPLACE FUNCTION carillon.error_fingerprint(reason text, error text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  SELECT lpad(to_hex(hashtextextended(carillon.error_pattern(reason, error), 0)), 16, '0')
$function$;

CREATE OR REPLACE FUNCTION carillon.error_pattern(reason text, error text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  SELECT reason || ': ' || regexp_replace(regexp_replace(regexp_replace(
    left(split_part(ltrim(coalesce(error, ''), E' \t\r\n'), E'\n', 1), 300),
    '[a-z][a-z0-9+.-]*://[^\s"''<>]+', '<url>', 'gi'),
    '\m(?=[a-z_-]*[0-9])(?=[0-9_-]*[a-z])[0-9a-z_-]{8,}\M', '<id>', 'gi'),
    '(?<!(?:answered|status|code|signal|http) |[0-9])[0-9]+', '<n>', 'gi')
$function$;

CREATE OR REPLACE FUNCTION carillon.hold_queue()
 RETURNS void
 LANGUAGE plpgsql
 SET lock_timeout TO '100ms'
AS $function$
BEGIN
  LOCK TABLE carillon.queue IN SHARE MODE;
END $function$;

CREATE OR REPLACE FUNCTION carillon.is_count(given jsonb, at_least integer, at_most integer)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
AS $function$
  SELECT CASE WHEN given IS NULL THEN true
              WHEN jsonb_typeof(given) <> 'number' THEN false
              ELSE given::numeric = trunc(given::numeric) AND given::numeric BETWEEN at_least AND at_most END
$function$;

CREATE OR REPLACE FUNCTION carillon.job_name_of(id uuid)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  SELECT 'job_' || string_agg(substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + substring(b.bits FROM 5 * i + 1 FOR 5)::int, 1),
                              '' ORDER BY i)
  FROM (SELECT B'00' || ('x' || replace(id::text, '-', ''))::bit(128) AS bits) b, generate_series(0, 25) AS i
$function$;

CREATE OR REPLACE FUNCTION carillon.lanes_with_runs(tasks text[], commands boolean, ahead_ms bigint, many integer, since bigint, routes integer[], ready_froms bigint[], waiting_froms bigint[], freed bigint[], OUT route integer, OUT ready bigint, OUT waiting bigint)
 RETURNS SETOF record
 LANGUAGE plpgsql
 STABLE ROWS 20
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
AS $function$
#variable_conflict use_column
DECLARE
  now bigint := carillon.now_ms();
  served int[] := ARRAY(
    SELECT r.route FROM carillon.routes r
    WHERE r.kind = 'http' OR (r.kind = 'task' AND r.name = ANY (tasks)) OR (r.kind = 'command' AND commands)
    LIMIT many + 1);
BEGIN
  IF cardinality(served) > many THEN
    served := routes;
    RETURN QUERY
    WITH RECURSIVE far AS (
      (SELECT q.route, q.available_at
       FROM carillon.queue q
       WHERE q.holder IS NULL AND (q.places IS NULL OR q.slot >= 0) AND q.route > 0 AND q.available_at >= since
       ORDER BY q.route, q.available_at
       LIMIT 1)
      UNION ALL
      SELECT next.route, next.available_at
      FROM far CROSS JOIN LATERAL (
        SELECT q.route, q.available_at
        FROM carillon.queue q
        WHERE q.holder IS NULL AND (q.places IS NULL OR q.slot >= 0) AND q.route > far.route AND q.available_at >= since
        ORDER BY q.route, q.available_at
        LIMIT 1
      ) next
    )
    SELECT far.route, far.available_at, NULL::bigint FROM far WHERE far.available_at <= now + ahead_ms;
    RETURN QUERY
    WITH RECURSIVE far AS (
      (SELECT q.route, q.available_at
       FROM carillon.queue q
       WHERE q.holder IS NULL AND q.places IS NOT NULL AND coalesce(q.slot, -1) < 0 AND q.route > 0
         AND q.available_at >= since
       ORDER BY q.route, q.available_at
       LIMIT 1)
      UNION ALL
      SELECT next.route, next.available_at
      FROM far CROSS JOIN LATERAL (
        SELECT q.route, q.available_at
        FROM carillon.queue q
        WHERE q.holder IS NULL AND q.places IS NOT NULL AND coalesce(q.slot, -1) < 0 AND q.route > far.route
          AND q.available_at >= since
        ORDER BY q.route, q.available_at
        LIMIT 1
      ) next
    )
    SELECT far.route, NULL::bigint, far.available_at FROM far WHERE far.available_at <= now;
  END IF;
  RETURN QUERY
  SELECT near.route,
         (SELECT q.available_at
          FROM carillon.queue q
          WHERE q.route = near.route AND q.holder IS NULL AND (q.places IS NULL OR q.slot >= 0)
            AND q.available_at >= near.ready_from AND q.available_at <= now + ahead_ms
          ORDER BY q.available_at
          LIMIT 1),
         (SELECT q.available_at
          FROM carillon.queue q
          WHERE q.route = near.route AND q.holder IS NULL AND q.places IS NOT NULL AND coalesce(q.slot, -1) < 0
            AND q.available_at >= near.waiting_from AND q.available_at <= now
          ORDER BY q.available_at
          LIMIT 1)
  FROM (
    SELECT lane.route, coalesce(known.ready_from, since) AS ready_from, coalesce(known.waiting_from, since) AS waiting_from
    FROM unnest(served) AS lane (route)
    LEFT JOIN unnest(routes, ready_froms, waiting_froms) AS known (route, ready_from, waiting_from)
      ON known.route = lane.route
    OFFSET 0
  ) near;
  IF cardinality(freed) > 0 THEN
    RETURN QUERY
    SELECT q.route, NULL::bigint, q.available_at
    FROM (SELECT * FROM carillon.queue w WHERE w.job = ANY (freed) OFFSET 0) q
    WHERE q.holder IS NULL AND q.places IS NOT NULL AND coalesce(q.slot, -1) < 0 AND q.available_at <= now;
  END IF;
END $function$;

CREATE OR REPLACE FUNCTION carillon.make_ledger_day(day date)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET lock_timeout TO '250ms'
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
DECLARE
  child  text := 'ledger_' || to_char(day, 'YYYYMMDD');
  lo     bigint := extract(epoch FROM day::timestamp AT TIME ZONE 'UTC')::bigint * 1000;
  hi     bigint := lo + 86400000;
BEGIN
  IF to_regclass('carillon.' || child) IS NOT NULL THEN
    RETURN false;
  END IF;
  LOCK TABLE carillon.ledger_default IN ACCESS EXCLUSIVE MODE;
  EXECUTE format('CREATE TABLE carillon.%I (LIKE carillon.ledger INCLUDING ALL)', child);
  EXECUTE format('WITH moved AS (DELETE FROM carillon.ledger_default WHERE recorded_at >= %s AND recorded_at < %s
                  RETURNING *) INSERT INTO carillon.%I SELECT * FROM moved', lo, hi, child);
  EXECUTE format('ALTER TABLE carillon.ledger ATTACH PARTITION carillon.%I FOR VALUES FROM (%s) TO (%s)',
                 child, lo, hi);
  RETURN true;
END $function$;

CREATE OR REPLACE FUNCTION carillon.note_expectation()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
BEGIN
  UPDATE carillon.expectation SET known = true WHERE NOT known;
  RETURN NULL;
END
$function$;

CREATE OR REPLACE FUNCTION carillon.note_what_is_looked_for()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  NEW.description := NEW.definition OPERATOR(pg_catalog.->>) 'description';
  NEW.tags := NEW.definition OPERATOR(pg_catalog.->) 'tags';
  NEW.managed_by := NEW.definition OPERATOR(pg_catalog.->>) 'managed_by';
  RETURN NEW;
END
$function$;

CREATE OR REPLACE FUNCTION carillon.now_ms()
 RETURNS bigint
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$ SELECT floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint $function$;

CREATE OR REPLACE FUNCTION carillon.put_in_outbox(for_tenant integer, key text, triggered bigint, said jsonb, due_at bigint, asked text)
 RETURNS uuid
 LANGUAGE plpgsql
AS $function$
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
END $function$;

CREATE OR REPLACE FUNCTION carillon.raise_walls()
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE
  t       record;
  own     text := $own$tenant = nullif(current_setting('carillon.tenant', true), '')::int$own$;
  allowed text;
BEGIN
  PERFORM carillon.ensure_roles();
  IF NOT has_schema_privilege('carillon_api', 'carillon', 'USAGE') THEN
    GRANT USAGE ON SCHEMA carillon TO carillon_fleet, carillon_api;
  END IF;
  FOR t IN
    SELECT c.oid, c.relname AS name, a.attnum IS NOT NULL AS owned, NOT coalesce(a.attnotnull, false) AS shared,
           c.relrowsecurity AND c.relforcerowsecurity AS walled,
           ARRAY(SELECT polname::text FROM pg_policy WHERE polrelid = c.oid) AS policies,
           has_table_privilege('carillon_fleet', c.oid, 'INSERT') AS granted
    FROM pg_class c
    LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant' AND NOT a.attisdropped
    WHERE c.relnamespace = 'carillon'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
    ORDER BY c.relname
  LOOP
    IF t.owned AND NOT t.walled THEN
      EXECUTE format('ALTER TABLE carillon.%I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', t.name);
    END IF;
    IF t.owned AND NOT 'fleet' = ANY (t.policies) THEN
      EXECUTE format('CREATE POLICY fleet ON carillon.%I TO carillon_fleet USING (true)', t.name);
    END IF;
    IF t.owned AND NOT 'own_rows' = ANY (t.policies) THEN
      EXECUTE format('CREATE POLICY own_rows ON carillon.%I TO carillon_api USING (%s)', t.name, own);
    END IF;
    IF t.owned AND t.shared AND NOT 'rows_of_the_fleet' = ANY (t.policies) THEN
      EXECUTE format('CREATE POLICY rows_of_the_fleet ON carillon.%I FOR SELECT TO carillon_api USING (tenant IS NULL)',
                     t.name);
    END IF;
    IF NOT t.granted THEN
      -- The audit is written once and never changed, by nobody.
      allowed := CASE WHEN t.name = 'audit_log' THEN 'SELECT, INSERT' ELSE 'SELECT, INSERT, UPDATE, DELETE' END;
      EXECUTE format('GRANT %s ON carillon.%I TO carillon_fleet', allowed, t.name);
      EXECUTE format('GRANT %s ON carillon.%I TO carillon_api', CASE WHEN t.owned THEN allowed ELSE 'SELECT' END, t.name);
    END IF;
  END LOOP;
  FOR t IN
    SELECT c.relname AS name FROM pg_sequence s JOIN pg_class c ON c.oid = s.seqrelid
    WHERE c.relnamespace = 'carillon'::regnamespace
      AND NOT has_sequence_privilege('carillon_api', s.seqrelid, 'USAGE')
      AND NOT EXISTS (SELECT FROM pg_depend d
                      WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'i')
  LOOP
    EXECUTE format('GRANT USAGE ON SEQUENCE carillon.%I TO carillon_fleet, carillon_api', t.name);
  END LOOP;
  -- Functions that act as the owner are the fleet's alone.
  FOR t IN
    SELECT p.oid::regprocedure::text AS name FROM pg_proc p
    WHERE p.pronamespace = 'carillon'::regnamespace AND p.prosecdef AND p.proacl IS NULL
  LOOP
    EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', t.name);
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO carillon_fleet', t.name);
  END LOOP;
END $function$;

CREATE OR REPLACE FUNCTION carillon.summarize_ledger()
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET lock_timeout TO '50ms'
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
DECLARE
  part    regclass;
  ranges  int := 0;
BEGIN
  FOR part IN
    SELECT i.indexrelid
    FROM pg_inherits h
    JOIN pg_index i ON i.indexrelid = h.inhrelid
    WHERE h.inhparent = 'carillon.ledger_recorded'::regclass
      AND pg_relation_size(i.indrelid) > 0
    ORDER BY i.indrelid::regclass::text DESC
    LIMIT 3
  LOOP
    BEGIN
      ranges := ranges + brin_summarize_new_values(part);
    EXCEPTION WHEN lock_not_available OR undefined_table THEN
      NULL;
    END;
  END LOOP;
  RETURN ranges;
END $function$;

CREATE OR REPLACE FUNCTION carillon.timeline_base()
 RETURNS bigint
 LANGUAGE sql
 STABLE
AS $function$ SELECT ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint << 40 $function$;

CREATE SEQUENCE carillon.job_numbers AS bigint;

CREATE SEQUENCE carillon.tokens AS bigint MAXVALUE 1099511627775;

CREATE SEQUENCE carillon.trigger_seq AS integer CYCLE;

CREATE TABLE carillon.alert_channels (
  channel uuid NOT NULL,
  tenant integer NOT NULL,
  name text NOT NULL,
  type text NOT NULL,
  settings jsonb NOT NULL,
  min_severity text NOT NULL DEFAULT 'info'::text,
  created_at bigint NOT NULL DEFAULT carillon.now_ms(),
  delivered_at bigint,
  delivered_ok boolean,
  delivered_error text,
  failures integer NOT NULL DEFAULT 0,
  CONSTRAINT alert_channels_pkey PRIMARY KEY (channel),
  CONSTRAINT alert_channels_tenant_name_key UNIQUE (tenant, name),
  CONSTRAINT alert_channels_min_severity_check CHECK ((min_severity = ANY (ARRAY['critical'::text, 'warning'::text, 'info'::text]))),
  CONSTRAINT alert_channels_type_check CHECK ((type = ANY (ARRAY['alertmanager'::text, 'webhook'::text, 'slack'::text, 'email'::text])))
);

CREATE TABLE carillon.alert_notifications (
  notification bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY,
  tenant integer NOT NULL,
  channel uuid NOT NULL,
  alert bigint NOT NULL,
  event text NOT NULL,
  created_at bigint NOT NULL DEFAULT carillon.now_ms(),
  next_at bigint,
  claimed_until bigint NOT NULL DEFAULT 0,
  tries integer NOT NULL DEFAULT 0,
  delivered_at bigint,
  given_up_at bigint,
  error text,
  CONSTRAINT alert_notifications_pkey PRIMARY KEY (notification),
  CONSTRAINT alert_notifications_alert_channel_event_key UNIQUE (alert, channel, event),
  CONSTRAINT alert_notifications_event_check CHECK ((event = ANY (ARRAY['firing'::text, 'resolved'::text])))
);

CREATE TABLE carillon.alert_rules (
  rule uuid NOT NULL,
  tenant integer NOT NULL,
  kind text NOT NULL,
  job bigint,
  tag text,
  params jsonb NOT NULL DEFAULT '{}'::jsonb,
  severity text,
  enabled boolean NOT NULL DEFAULT true,
  channels uuid[],
  created_at bigint NOT NULL DEFAULT carillon.now_ms(),
  updated_at bigint NOT NULL DEFAULT carillon.now_ms(),
  CONSTRAINT alert_rules_pkey PRIMARY KEY (rule),
  CONSTRAINT alert_rules_check CHECK (((job IS NULL) OR (tag IS NULL))),
  CONSTRAINT alert_rules_severity_check CHECK ((severity = ANY (ARRAY['critical'::text, 'warning'::text, 'info'::text])))
);

CREATE TABLE carillon.alert_silences (
  silence uuid NOT NULL,
  tenant integer NOT NULL,
  kind text,
  job bigint,
  tag text,
  until bigint NOT NULL,
  reason text NOT NULL,
  created_at bigint NOT NULL DEFAULT carillon.now_ms(),
  created_by text NOT NULL,
  CONSTRAINT alert_silences_pkey PRIMARY KEY (silence)
);

CREATE TABLE carillon.alert_watch (
  one boolean NOT NULL DEFAULT true,
  through bigint NOT NULL,
  looked_at bigint NOT NULL DEFAULT 0,
  memory jsonb NOT NULL DEFAULT '{}'::jsonb,
  pinged_at bigint NOT NULL DEFAULT 0,
  slice_ms bigint NOT NULL DEFAULT 60000,
  CONSTRAINT alert_watch_pkey PRIMARY KEY (one),
  CONSTRAINT alert_watch_one_check CHECK (one),
  CONSTRAINT alert_watch_slice_ms_check CHECK ((slice_ms >= 1))
);

CREATE TABLE carillon.alerts (
  alert bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY,
  tenant integer,
  kind text NOT NULL,
  fingerprint text NOT NULL,
  subject text NOT NULL,
  detail jsonb,
  raised_at bigint NOT NULL DEFAULT carillon.now_ms(),
  resolved_at bigint,
  severity text NOT NULL DEFAULT 'warning'::text,
  job bigint,
  last_seen_at bigint NOT NULL DEFAULT carillon.now_ms(),
  count integer NOT NULL DEFAULT 1,
  resolved_by text,
  mark bigint,
  route_at bigint DEFAULT carillon.now_ms(),
  told text,
  silenced_by uuid,
  muted boolean NOT NULL DEFAULT false,
  CONSTRAINT alerts_pkey PRIMARY KEY (alert),
  CONSTRAINT alerts_check CHECK (((resolved_by IS NULL) OR (resolved_at IS NOT NULL))),
  CONSTRAINT alerts_count_check CHECK ((count >= 1)),
  CONSTRAINT alerts_severity_check CHECK ((severity = ANY (ARRAY['critical'::text, 'warning'::text, 'info'::text]))),
  CONSTRAINT alerts_told_check CHECK ((told = ANY (ARRAY['firing'::text, 'resolved'::text])))
);

CREATE TABLE carillon.api_keys (
  key_id uuid NOT NULL,
  tenant integer NOT NULL,
  name text NOT NULL,
  role text NOT NULL,
  hash bytea NOT NULL,
  created_at bigint NOT NULL DEFAULT carillon.now_ms(),
  expires_at bigint,
  revoked_at bigint,
  previous_hash bytea,
  previous_expires_at bigint,
  rotated_at bigint,
  CONSTRAINT api_keys_pkey PRIMARY KEY (key_id),
  CONSTRAINT api_keys_hash_key UNIQUE (hash),
  CONSTRAINT api_keys_previous_hash_key UNIQUE (previous_hash),
  CONSTRAINT api_keys_check CHECK (((previous_hash IS NULL) = (previous_expires_at IS NULL))),
  CONSTRAINT api_keys_role_check CHECK ((role = ANY (ARRAY['admin'::text, 'operator'::text, 'viewer'::text, 'worker'::text])))
);

CREATE TABLE carillon.audit_log (
  entry bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY (INCREMENT BY 1024),
  tenant integer NOT NULL,
  at bigint NOT NULL DEFAULT carillon.now_ms(),
  actor text NOT NULL,
  action text NOT NULL,
  subject text NOT NULL,
  detail jsonb,
  actor_key uuid,
  request_id text,
  jobs uuid[] STORAGE EXTERNAL,
  names text[] STORAGE EXTERNAL,
  requests text[],
  first_job uuid,
  last_job uuid,
  CONSTRAINT audit_log_pkey PRIMARY KEY (tenant, entry),
  CONSTRAINT audit_log_together_check CHECK (((jobs IS NULL) OR ((cardinality(jobs) >= 1) AND (cardinality(jobs) <= 1024) AND (cardinality(names) = cardinality(jobs)) AND ((requests IS NULL) OR (cardinality(requests) = cardinality(jobs))) AND (first_job IS NOT NULL) AND (last_job >= first_job))))
);

CREATE TABLE carillon.brake (
  one boolean NOT NULL DEFAULT true,
  window_factor double precision NOT NULL,
  catch_up_factor double precision NOT NULL,
  reason text NOT NULL,
  set_at bigint NOT NULL DEFAULT carillon.now_ms(),
  ends_at bigint NOT NULL,
  CONSTRAINT brake_pkey PRIMARY KEY (one),
  CONSTRAINT brake_catch_up_factor_check CHECK (((catch_up_factor >= (0)::double precision) AND (catch_up_factor <= (1)::double precision))),
  CONSTRAINT brake_one_check CHECK (one),
  CONSTRAINT brake_window_factor_check CHECK (((window_factor >= (1)::double precision) AND (window_factor <= (100)::double precision)))
);

CREATE TABLE carillon.calendars (
  calendar bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY,
  tenant integer NOT NULL,
  name text NOT NULL,
  version integer NOT NULL DEFAULT 1,
  definition jsonb NOT NULL,
  updated_at bigint NOT NULL DEFAULT carillon.now_ms(),
  CONSTRAINT calendars_pkey PRIMARY KEY (calendar),
  CONSTRAINT calendars_tenant_name_key UNIQUE (tenant, name)
);

CREATE TABLE carillon.counted (
  one boolean NOT NULL DEFAULT true,
  through bigint NOT NULL,
  CONSTRAINT counted_pkey PRIMARY KEY (one),
  CONSTRAINT counted_one_check CHECK (one)
);

CREATE TABLE carillon.dead_letters (
  due bigint NOT NULL,
  job bigint NOT NULL,
  origin smallint NOT NULL,
  seq integer NOT NULL,
  tenant integer NOT NULL,
  route integer NOT NULL,
  version integer NOT NULL,
  epoch bigint NOT NULL,
  next_due bigint,
  places smallint,
  attempts smallint NOT NULL,
  round smallint NOT NULL,
  catch_up boolean NOT NULL,
  reason text NOT NULL,
  error text,
  result jsonb,
  dead_at bigint NOT NULL,
  partition smallint NOT NULL,
  max_attempts smallint NOT NULL,
  payload jsonb,
  fingerprint text NOT NULL GENERATED ALWAYS AS (carillon.error_fingerprint(reason, error)) STORED,
  CONSTRAINT dead_letters_pkey PRIMARY KEY (due, job, origin, seq, partition),
  CONSTRAINT dead_letters_check CHECK ((max_attempts >= attempts))
);

CREATE TABLE carillon.effects (
  job bigint NOT NULL,
  idempotency_key text NOT NULL,
  effect text NOT NULL,
  tenant integer NOT NULL,
  result text,
  token bigint NOT NULL,
  created_at bigint NOT NULL DEFAULT carillon.now_ms(),
  partition smallint NOT NULL,
  CONSTRAINT effects_pkey PRIMARY KEY (job, idempotency_key, effect, partition),
  CONSTRAINT effects_effect_check CHECK (((length(effect) >= 1) AND (length(effect) <= 200))),
  CONSTRAINT effects_idempotency_key_check CHECK (((length(idempotency_key) >= 1) AND (length(idempotency_key) <= 300))),
  CONSTRAINT effects_result_check CHECK ((octet_length(result) <= 65536))
);

CREATE TABLE carillon.enqueuers (
  login name NOT NULL,
  tenant integer NOT NULL,
  CONSTRAINT enqueuers_pkey PRIMARY KEY (login)
);

CREATE TABLE carillon.expectation (
  single boolean NOT NULL DEFAULT true,
  known boolean NOT NULL,
  CONSTRAINT expectation_pkey PRIMARY KEY (single),
  CONSTRAINT expectation_single_check CHECK (single)
);

CREATE TABLE carillon.fleet_sample (
  single boolean NOT NULL DEFAULT true,
  taken_at bigint NOT NULL,
  took_ms bigint NOT NULL,
  sample jsonb NOT NULL,
  counts jsonb NOT NULL DEFAULT '{}'::jsonb,
  counted_at bigint NOT NULL DEFAULT 0,
  count_at bigint NOT NULL DEFAULT 0,
  CONSTRAINT fleet_sample_pkey PRIMARY KEY (single),
  CONSTRAINT fleet_sample_single_check CHECK (single)
);

CREATE TABLE carillon.idempotency_keys (
  tenant integer NOT NULL,
  key text NOT NULL,
  request bytea NOT NULL,
  created_at bigint NOT NULL DEFAULT carillon.now_ms(),
  status smallint NOT NULL,
  body text NOT NULL,
  location text,
  CONSTRAINT idempotency_keys_pkey PRIMARY KEY (tenant, key)
);

CREATE TABLE carillon.incarnations (
  incarnation bigint NOT NULL,
  host text NOT NULL,
  pid integer,
  roles text[] NOT NULL,
  tasks text[] NOT NULL DEFAULT '{}'::text[],
  code_version text NOT NULL,
  state text NOT NULL DEFAULT 'alive'::text,
  beat bigint NOT NULL DEFAULT 0,
  beat_at bigint NOT NULL DEFAULT carillon.now_ms(),
  session_lock boolean NOT NULL DEFAULT false,
  started_at bigint NOT NULL DEFAULT carillon.now_ms(),
  ended_at bigint,
  rescued_at bigint,
  report jsonb NOT NULL DEFAULT '{}'::jsonb,
  commands boolean NOT NULL DEFAULT false,
  tenant integer,
  CONSTRAINT incarnations_pkey PRIMARY KEY (incarnation),
  CONSTRAINT incarnations_incarnation_state_key UNIQUE (incarnation, state),
  CONSTRAINT incarnations_check CHECK (((state = 'alive'::text) = (ended_at IS NULL))),
  CONSTRAINT incarnations_check1 CHECK (((tenant IS NULL) = (pid IS NOT NULL))),
  CONSTRAINT incarnations_check2 CHECK (((tenant IS NULL) OR ((roles = '{worker}'::text[]) AND (NOT session_lock)))),
  CONSTRAINT incarnations_state_check CHECK ((state = ANY (ARRAY['alive'::text, 'left'::text, 'dead'::text])))
) WITH (fillfactor = 50);

CREATE TABLE carillon.job_health (
  job bigint NOT NULL,
  tenant integer NOT NULL,
  failures integer NOT NULL DEFAULT 0,
  overlapped integer NOT NULL DEFAULT 0,
  ran integer NOT NULL DEFAULT 0,
  period_ms bigint,
  updated_at bigint NOT NULL DEFAULT carillon.now_ms(),
  CONSTRAINT job_health_pkey PRIMARY KEY (job)
) WITH (fillfactor = 70);

CREATE TABLE carillon.job_versions (
  job bigint NOT NULL,
  version integer NOT NULL,
  tenant integer NOT NULL,
  definition jsonb NOT NULL,
  route integer NOT NULL,
  created_at bigint NOT NULL,
  partition smallint NOT NULL,
  reason text,
  CONSTRAINT job_versions_pkey PRIMARY KEY (job, version, partition)
);

CREATE TABLE carillon.jobs (
  job bigint NOT NULL DEFAULT nextval('carillon.job_numbers'::regclass),
  id uuid NOT NULL,
  tenant integer NOT NULL,
  partition smallint NOT NULL,
  name text NOT NULL,
  state text NOT NULL DEFAULT 'active'::text,
  version integer NOT NULL DEFAULT 1,
  definition jsonb,
  one_off boolean NOT NULL,
  route integer NOT NULL,
  effective_from bigint NOT NULL,
  zone_data text NOT NULL,
  created_at bigint NOT NULL DEFAULT carillon.now_ms(),
  updated_at bigint NOT NULL DEFAULT carillon.now_ms(),
  ended_at bigint,
  changed_at bigint NOT NULL DEFAULT carillon.now_ms(),
  paused_at bigint,
  pause_reason text,
  paused_until bigint,
  ticks_changed_until bigint,
  description text,
  tags jsonb,
  managed_by text,
  cancelled_at bigint,
  cancel_reason text,
  version_reason text,
  CONSTRAINT jobs_pkey PRIMARY KEY (job),
  CONSTRAINT jobs_id_key UNIQUE (id),
  CONSTRAINT jobs_cancelled_check CHECK (((state <> 'cancelled'::text) OR (cancelled_at IS NOT NULL))),
  CONSTRAINT jobs_cancelled_check1 CHECK (((cancelled_at IS NULL) OR (state = ANY (ARRAY['cancelled'::text, 'deleted'::text, 'collected'::text])))),
  CONSTRAINT jobs_cancelled_check2 CHECK (((cancelled_at IS NOT NULL) OR (cancel_reason IS NULL))),
  CONSTRAINT jobs_check CHECK (((state = 'collected'::text) = (definition IS NULL))),
  CONSTRAINT jobs_check2 CHECK (((state = 'paused'::text) = (paused_at IS NOT NULL))),
  CONSTRAINT jobs_check3 CHECK (((paused_at IS NOT NULL) OR ((pause_reason IS NULL) AND (paused_until IS NULL)))),
  CONSTRAINT jobs_ended_check CHECK (((state = ANY (ARRAY['ended'::text, 'cancelled'::text, 'deleted'::text, 'collected'::text])) = (ended_at IS NOT NULL))),
  CONSTRAINT jobs_partition_check CHECK (((partition >= 0) AND (partition <= 255))),
  CONSTRAINT jobs_state_check CHECK ((state = ANY (ARRAY['active'::text, 'paused'::text, 'ended'::text, 'cancelled'::text, 'deleted'::text, 'collected'::text])))
);

CREATE TABLE carillon.ledger (
  recorded_at bigint NOT NULL,
  tenant integer NOT NULL,
  job bigint NOT NULL,
  due bigint NOT NULL,
  origin smallint NOT NULL,
  seq integer NOT NULL,
  outcome carillon.outcome NOT NULL,
  final boolean NOT NULL,
  round smallint NOT NULL,
  attempt smallint NOT NULL,
  max_attempts smallint,
  version integer NOT NULL,
  epoch bigint NOT NULL,
  next_due bigint,
  token bigint,
  worker bigint,
  catch_up boolean NOT NULL DEFAULT false,
  due_to bigint,
  ticks integer NOT NULL DEFAULT 1,
  available_at bigint,
  fired_at bigint,
  leased_at bigint,
  started_at bigint,
  finished_at bigint,
  reason text,
  error text,
  result jsonb,
  partition smallint NOT NULL,
  CONSTRAINT ledger_check CHECK (((outcome <> 'skipped'::carillon.outcome) OR (attempt = 0))),
  CONSTRAINT ledger_check1 CHECK (((outcome <> 'stale'::carillon.outcome) OR (NOT final))),
  CONSTRAINT ledger_check2 CHECK (((due_to IS NULL) OR ((outcome = 'skipped'::carillon.outcome) AND (due_to >= due)))),
  CONSTRAINT ledger_ticks_check CHECK ((ticks >= 1))
) PARTITION BY RANGE (recorded_at);

CREATE TABLE carillon.migrations (
  version integer NOT NULL,
  name text NOT NULL,
  checksum text NOT NULL,
  applied_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT migrations_pkey PRIMARY KEY (version)
);

CREATE TABLE carillon.operations (
  operation bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY,
  id uuid NOT NULL,
  tenant integer NOT NULL,
  action text NOT NULL,
  filter jsonb NOT NULL,
  arguments jsonb NOT NULL,
  state text NOT NULL DEFAULT 'running'::text,
  total integer NOT NULL,
  done integer NOT NULL DEFAULT 0,
  failed integer NOT NULL DEFAULT 0,
  errors jsonb NOT NULL DEFAULT '[]'::jsonb,
  cursor_job bigint NOT NULL DEFAULT 0,
  through_job bigint NOT NULL,
  created_at bigint NOT NULL DEFAULT carillon.now_ms(),
  finished_at bigint,
  CONSTRAINT operations_pkey PRIMARY KEY (operation),
  CONSTRAINT operations_id_key UNIQUE (id),
  CONSTRAINT operations_action_check CHECK ((action = ANY (ARRAY['pause'::text, 'resume'::text, 'cancel'::text, 'delete'::text, 'trigger'::text, 'tag'::text, 'untag'::text]))),
  CONSTRAINT operations_check CHECK (((finished_at IS NULL) = (state = 'running'::text))),
  CONSTRAINT operations_state_check CHECK ((state = ANY (ARRAY['running'::text, 'done'::text, 'cancelled'::text, 'failed'::text])))
);

CREATE TABLE carillon.outbox (
  entry bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY,
  tenant integer NOT NULL,
  id uuid NOT NULL,
  job bigint,
  definition jsonb,
  due bigint,
  created_at bigint NOT NULL DEFAULT carillon.now_ms(),
  claimed_until bigint NOT NULL DEFAULT 0,
  done_at bigint,
  refused_at bigint,
  error text,
  key uuid,
  request bytea,
  login name DEFAULT SESSION_USER,
  tries integer NOT NULL DEFAULT 0,
  CONSTRAINT outbox_pkey PRIMARY KEY (entry),
  CONSTRAINT outbox_check CHECK (((job IS NULL) = ((definition IS NOT NULL) AND (due IS NOT NULL)))),
  CONSTRAINT outbox_check1 CHECK (((done_at IS NULL) OR (refused_at IS NULL)))
);

CREATE TABLE carillon.partitions (
  partition smallint NOT NULL,
  epoch bigint NOT NULL DEFAULT 0,
  owner bigint,
  expires_at bigint NOT NULL DEFAULT 0,
  taken_at bigint NOT NULL DEFAULT 0,
  zone_data text,
  CONSTRAINT partitions_pkey PRIMARY KEY (partition),
  CONSTRAINT partitions_partition_epoch_key UNIQUE (partition, epoch),
  CONSTRAINT partitions_partition_check CHECK (((partition >= 0) AND (partition <= 255)))
) WITH (fillfactor = 50);

CREATE TABLE carillon.queue (
  due bigint NOT NULL,
  job bigint NOT NULL,
  origin smallint NOT NULL DEFAULT 0,
  seq integer NOT NULL DEFAULT 0,
  tenant integer NOT NULL,
  route integer NOT NULL,
  version integer NOT NULL,
  epoch bigint NOT NULL,
  next_due bigint,
  slot smallint,
  places smallint,
  attempt smallint NOT NULL DEFAULT 1,
  max_attempts smallint NOT NULL,
  round smallint NOT NULL DEFAULT 0,
  available_at bigint NOT NULL,
  fired_at bigint NOT NULL,
  holder bigint,
  token bigint,
  leased_at bigint,
  catch_up boolean NOT NULL DEFAULT false,
  cancel_requested boolean NOT NULL DEFAULT false,
  last_error text,
  partition smallint NOT NULL,
  payload jsonb,
  stop_requested boolean NOT NULL DEFAULT false,
  deadline bigint,
  CONSTRAINT queue_pkey PRIMARY KEY (job, due, origin, seq, partition),
  CONSTRAINT queue_attempt_check CHECK ((attempt >= 1)),
  CONSTRAINT queue_check CHECK (((origin <> 0) OR (seq = 0))),
  CONSTRAINT queue_check1 CHECK (((holder IS NULL) = (token IS NULL))),
  CONSTRAINT queue_check2 CHECK (((holder IS NULL) = (leased_at IS NULL))),
  CONSTRAINT queue_check3 CHECK (((holder IS NOT NULL) OR (NOT cancel_requested))),
  CONSTRAINT queue_check4 CHECK ((attempt <= max_attempts)),
  CONSTRAINT queue_check5 CHECK ((cancel_requested OR (NOT stop_requested))),
  CONSTRAINT queue_max_attempts_check CHECK ((max_attempts >= 1)),
  CONSTRAINT queue_origin_check CHECK (((origin >= 0) AND (origin <= 255))),
  CONSTRAINT queue_places_check CHECK ((places >= 1)),
  CONSTRAINT queue_round_check CHECK ((round >= 0)),
  CONSTRAINT queue_slot_check CHECK ((slot >= '-1'::integer))
) WITH (autovacuum_vacuum_cost_delay = 0, autovacuum_vacuum_insert_threshold = -1, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, fillfactor = 70);

CREATE TABLE carillon.redrives (
  redrive bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY,
  tenant integer NOT NULL,
  job bigint,
  fingerprint text,
  after_ms bigint NOT NULL,
  before_ms bigint NOT NULL,
  per_second double precision NOT NULL,
  canary integer NOT NULL,
  total integer NOT NULL,
  moved integer NOT NULL DEFAULT 0,
  canaries jsonb NOT NULL DEFAULT '[]'::jsonb,
  paced_at bigint NOT NULL,
  state text NOT NULL,
  reason text,
  created_at bigint NOT NULL DEFAULT carillon.now_ms(),
  ended_at bigint,
  current_version boolean NOT NULL DEFAULT false,
  CONSTRAINT redrives_pkey PRIMARY KEY (redrive),
  CONSTRAINT redrives_canary_check CHECK ((canary >= 0)),
  CONSTRAINT redrives_check CHECK (((ended_at IS NULL) = (state = ANY (ARRAY['canary'::text, 'watching'::text, 'running'::text])))),
  CONSTRAINT redrives_per_second_check CHECK ((per_second > (0)::double precision)),
  CONSTRAINT redrives_state_check CHECK ((state = ANY (ARRAY['canary'::text, 'watching'::text, 'running'::text, 'done'::text, 'stopped'::text, 'cancelled'::text])))
);

CREATE TABLE carillon.replays (
  replay bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY,
  tenant integer NOT NULL,
  job bigint NOT NULL,
  kind text NOT NULL,
  from_ms bigint NOT NULL,
  to_ms bigint NOT NULL,
  cursor_ms bigint NOT NULL,
  done integer NOT NULL DEFAULT 0,
  total integer NOT NULL,
  per_minute integer,
  state text NOT NULL DEFAULT 'running'::text,
  created_at bigint NOT NULL DEFAULT carillon.now_ms(),
  partition smallint NOT NULL,
  version integer NOT NULL,
  reason text NOT NULL,
  ticks bigint[],
  next_at bigint,
  ended_at bigint,
  only_missing boolean,
  CONSTRAINT replays_pkey PRIMARY KEY (replay),
  CONSTRAINT replays_check CHECK ((to_ms >= from_ms)),
  CONSTRAINT replays_check1 CHECK (((kind = 'backfill'::text) = (ticks IS NOT NULL))),
  CONSTRAINT replays_check2 CHECK (((kind = 'backfill'::text) = (next_at IS NOT NULL))),
  CONSTRAINT replays_check3 CHECK (((kind <> 'backfill'::text) OR ((per_minute > 0) AND (total = cardinality(ticks))))),
  CONSTRAINT replays_kind_check CHECK ((kind = ANY (ARRAY['catch_up'::text, 'backfill'::text]))),
  CONSTRAINT replays_state_check CHECK ((state = ANY (ARRAY['running'::text, 'paused'::text, 'done'::text, 'cancelled'::text])))
);

CREATE TABLE carillon.routes (
  route integer NOT NULL GENERATED BY DEFAULT AS IDENTITY,
  tenant integer NOT NULL,
  kind text NOT NULL,
  name text NOT NULL DEFAULT ''::text,
  priority smallint NOT NULL DEFAULT 5,
  CONSTRAINT routes_pkey PRIMARY KEY (route),
  CONSTRAINT routes_tenant_kind_name_priority_key UNIQUE (tenant, kind, name, priority),
  CONSTRAINT routes_kind_check CHECK ((kind = ANY (ARRAY['http'::text, 'task'::text, 'command'::text]))),
  CONSTRAINT routes_priority_check CHECK (((priority >= 0) AND (priority <= 9)))
);

CREATE TABLE carillon.run_counts (
  tenant integer NOT NULL,
  at bigint NOT NULL,
  outcome text NOT NULL,
  lag smallint NOT NULL,
  runs bigint NOT NULL,
  first bigint NOT NULL,
  max_lag bigint NOT NULL,
  CONSTRAINT run_counts_pkey PRIMARY KEY (tenant, at, outcome, lag)
);

CREATE TABLE carillon.segments (
  job bigint NOT NULL,
  from_ms bigint NOT NULL,
  tenant integer NOT NULL,
  version integer NOT NULL,
  calendars jsonb,
  zone_data text NOT NULL,
  reason text NOT NULL,
  partition smallint NOT NULL,
  CONSTRAINT segments_pkey PRIMARY KEY (job, from_ms, partition)
);

CREATE TABLE carillon.signing_secrets (
  tenant integer NOT NULL,
  secret bytea NOT NULL,
  created_at bigint NOT NULL DEFAULT carillon.now_ms(),
  retires_at bigint,
  id uuid NOT NULL,
  CONSTRAINT signing_secrets_pkey PRIMARY KEY (tenant, id),
  CONSTRAINT signing_secrets_secret_check CHECK (((octet_length(secret) >= 24) AND (octet_length(secret) <= 64)))
);

CREATE TABLE carillon.targets (
  tenant integer NOT NULL,
  host text NOT NULL,
  rate_per_second double precision,
  burst integer,
  max_concurrent integer,
  timeout_seconds integer,
  drain_per_second double precision,
  breaker_enabled boolean,
  breaker_attempts integer,
  breaker_window_seconds integer,
  breaker_failure_ratio double precision,
  breaker_failures_in_row integer,
  breaker_open_seconds integer,
  breaker_max_open_seconds integer,
  tokens double precision NOT NULL DEFAULT 0,
  tokens_at bigint NOT NULL DEFAULT carillon.now_ms(),
  in_use integer NOT NULL DEFAULT 0,
  state text NOT NULL DEFAULT 'closed'::text,
  since bigint NOT NULL DEFAULT carillon.now_ms(),
  retry_at bigint,
  openings integer NOT NULL DEFAULT 0,
  window_at bigint NOT NULL DEFAULT carillon.now_ms(),
  attempts integer NOT NULL DEFAULT 0,
  failures integer NOT NULL DEFAULT 0,
  failures_in_row integer NOT NULL DEFAULT 0,
  last_error text,
  last_failed_at bigint,
  watched_at bigint,
  probe_at bigint,
  probe_due bigint,
  probe_job bigint,
  probe_token bigint,
  CONSTRAINT targets_pkey PRIMARY KEY (tenant, host),
  CONSTRAINT targets_breaker_attempts_check CHECK ((breaker_attempts >= 1)),
  CONSTRAINT targets_breaker_failure_ratio_check CHECK (((breaker_failure_ratio > (0)::double precision) AND (breaker_failure_ratio <= (1)::double precision))),
  CONSTRAINT targets_breaker_failures_in_row_check CHECK ((breaker_failures_in_row >= 1)),
  CONSTRAINT targets_breaker_max_open_seconds_check CHECK ((breaker_max_open_seconds >= 1)),
  CONSTRAINT targets_breaker_open_seconds_check CHECK ((breaker_open_seconds >= 1)),
  CONSTRAINT targets_breaker_window_seconds_check CHECK ((breaker_window_seconds >= 1)),
  CONSTRAINT targets_burst_check CHECK ((burst >= 1)),
  CONSTRAINT targets_check CHECK (((retry_at IS NOT NULL) OR (state <> 'open'::text))),
  CONSTRAINT targets_check1 CHECK ((failures <= attempts)),
  CONSTRAINT targets_drain_per_second_check CHECK ((drain_per_second > (0)::double precision)),
  CONSTRAINT targets_host_check CHECK ((host <> ''::text)),
  CONSTRAINT targets_in_use_check CHECK ((in_use >= 0)),
  CONSTRAINT targets_max_concurrent_check CHECK ((max_concurrent >= 1)),
  CONSTRAINT targets_rate_per_second_check CHECK ((rate_per_second > (0)::double precision)),
  CONSTRAINT targets_state_check CHECK ((state = ANY (ARRAY['closed'::text, 'open'::text, 'half_open'::text, 'draining'::text]))),
  CONSTRAINT targets_timeout_seconds_check CHECK ((timeout_seconds >= 1))
) WITH (fillfactor = 50);

CREATE TABLE carillon.tenant_jobs (
  tenant integer NOT NULL,
  jobs integer NOT NULL,
  granted integer NOT NULL DEFAULT 0,
  tokens double precision NOT NULL DEFAULT 0,
  refilled_at bigint NOT NULL DEFAULT 0,
  recounted_at bigint NOT NULL DEFAULT carillon.now_ms(),
  CONSTRAINT tenant_jobs_pkey PRIMARY KEY (tenant),
  CONSTRAINT tenant_jobs_jobs_check CHECK ((jobs >= 0))
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, fillfactor = 10);

CREATE TABLE carillon.tenant_slots (
  tenant integer NOT NULL,
  capacity integer NOT NULL,
  taken integer NOT NULL DEFAULT 0,
  CONSTRAINT tenant_slots_pkey PRIMARY KEY (tenant),
  CONSTRAINT tenant_slots_capacity_check CHECK ((capacity >= 0)),
  CONSTRAINT tenant_slots_taken_check CHECK ((taken >= 0))
) WITH (fillfactor = 50);

CREATE TABLE carillon.tenants (
  tenant integer NOT NULL GENERATED BY DEFAULT AS IDENTITY (START WITH 2),
  name text NOT NULL,
  min_interval_seconds integer,
  created_at bigint NOT NULL DEFAULT carillon.now_ms(),
  weight integer NOT NULL DEFAULT 100,
  max_jobs integer,
  create_per_second double precision,
  allow_commands boolean NOT NULL DEFAULT false,
  CONSTRAINT tenants_pkey PRIMARY KEY (tenant),
  CONSTRAINT tenants_name_key UNIQUE (name),
  CONSTRAINT tenants_create_per_second_check CHECK ((create_per_second > (0)::double precision)),
  CONSTRAINT tenants_max_jobs_check CHECK ((max_jobs >= 0)),
  CONSTRAINT tenants_min_interval_seconds_check CHECK ((min_interval_seconds >= 1)),
  CONSTRAINT tenants_weight_check CHECK (((weight >= 1) AND (weight <= 10000)))
);

CREATE TABLE carillon.tick_changes (
  job bigint NOT NULL,
  due bigint NOT NULL,
  tenant integer NOT NULL,
  action text NOT NULL,
  start_at bigint,
  reason text,
  actor text,
  created_at bigint NOT NULL DEFAULT carillon.now_ms(),
  partition smallint NOT NULL,
  CONSTRAINT tick_changes_pkey PRIMARY KEY (job, due, partition),
  CONSTRAINT tick_changes_action_check CHECK ((action = ANY (ARRAY['skip'::text, 'move'::text]))),
  CONSTRAINT tick_changes_check CHECK (((action = 'move'::text) = (start_at IS NOT NULL)))
);

CREATE TABLE carillon.timers (
  job bigint NOT NULL,
  tenant integer NOT NULL,
  due bigint,
  start_at bigint,
  rev integer NOT NULL DEFAULT 1,
  runs integer NOT NULL DEFAULT 0,
  accounted_through bigint NOT NULL,
  partition smallint NOT NULL,
  CONSTRAINT timers_pkey PRIMARY KEY (job, partition),
  CONSTRAINT timers_check CHECK (((due IS NULL) = (start_at IS NULL))),
  CONSTRAINT timers_check1 CHECK ((due > accounted_through))
) WITH (autovacuum_vacuum_cost_delay = 0, autovacuum_vacuum_scale_factor = 0.02, fillfactor = 70);

CREATE TABLE carillon.ledger_default PARTITION OF carillon.ledger DEFAULT;

CREATE OR REPLACE FUNCTION carillon.target_bucket(t carillon.targets, now bigint, OUT pace double precision, OUT tokens double precision)
 RETURNS record
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE
AS $function$
DECLARE
  most float8 := coalesce(t.burst, greatest(1, ceil(t.rate_per_second)));
BEGIN
  pace := t.rate_per_second;
  IF t.state = 'draining' THEN
    pace := least(pace, coalesce(t.drain_per_second, 10 * 2 ^ least(greatest(now - t.since, 0) / 5000.0, 20)::float8));
    most := least(t.burst, greatest(1, pace / 4));
  END IF;
  IF pace IS NOT NULL THEN
    tokens := least(most, t.tokens + greatest(now - t.tokens_at, 0) / 1000.0::float8 * pace);
  END IF;
END $function$;

CREATE OR REPLACE FUNCTION carillon.target_holds_back(t carillon.targets, now bigint)
 RETURNS text
 LANGUAGE plpgsql
 STABLE PARALLEL SAFE
AS $function$
BEGIN
  RETURN CASE
    WHEN t.state IN ('open', 'half_open') THEN 'breaker_open'
    WHEN NOT carillon.target_limits(t) OR coalesce(carillon.target_room(t, now), 1) > 0 THEN NULL
    WHEN t.in_use >= t.max_concurrent THEN 'target_concurrency'
    WHEN t.state = 'draining' THEN 'target_draining'
    ELSE 'target_rate'
  END;
END $function$;

CREATE OR REPLACE FUNCTION carillon.target_limitless(t carillon.targets)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  SELECT num_nonnulls(t.rate_per_second, t.burst, t.max_concurrent, t.timeout_seconds, t.drain_per_second,
                      t.breaker_enabled, t.breaker_attempts, t.breaker_window_seconds, t.breaker_failure_ratio,
                      t.breaker_failures_in_row, t.breaker_open_seconds, t.breaker_max_open_seconds) = 0
$function$;

CREATE OR REPLACE FUNCTION carillon.target_limits(t carillon.targets)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  SELECT t.rate_per_second IS NOT NULL OR t.max_concurrent IS NOT NULL OR t.state <> 'closed'
$function$;

CREATE OR REPLACE FUNCTION carillon.target_room(t carillon.targets, now bigint)
 RETURNS integer
 LANGUAGE plpgsql
 STABLE PARALLEL SAFE
AS $function$
DECLARE
  room int := least(t.max_concurrent - t.in_use, floor((carillon.target_bucket(t, now)).tokens + 1e-6)::int);
BEGIN
  IF t.state = 'open' AND now < t.retry_at THEN
    RETURN 0;
  END IF;
  IF t.state IN ('open', 'half_open') THEN
    room := least(room, 1);
    IF t.probe_at > now - 5000 OR EXISTS (
      SELECT FROM carillon.queue q
      WHERE q.due = t.probe_due AND q.job = t.probe_job AND q.token = t.probe_token)
    THEN
      RETURN 0;
    END IF;
  END IF;
  RETURN greatest(room, CASE WHEN room IS NOT NULL THEN 0 END);
END $function$;

CREATE INDEX alert_notifications_of_channel ON carillon.alert_notifications USING btree (channel);

CREATE INDEX alert_notifications_waiting ON carillon.alert_notifications USING btree (next_at) WHERE (next_at IS NOT NULL);

CREATE UNIQUE INDEX alert_rules_once ON carillon.alert_rules USING btree (tenant, kind, COALESCE(job, (0)::bigint), COALESCE(tag, ''::text));

CREATE INDEX alert_silences_of_tenant ON carillon.alert_silences USING btree (tenant, until);

CREATE INDEX alerts_end_untold ON carillon.alerts USING btree (alert) WHERE ((resolved_at IS NOT NULL) AND (told = 'firing'::text) AND (route_at IS NULL));

CREATE INDEX alerts_going_on ON carillon.alerts USING btree (tenant, alert DESC) WHERE (resolved_at IS NULL);

CREATE INDEX alerts_latest ON carillon.alerts USING btree (tenant, alert DESC);

CREATE INDEX alerts_of_fleet ON carillon.alerts USING btree (alert DESC) WHERE (tenant IS NULL);

CREATE INDEX alerts_of_fleet_kind ON carillon.alerts USING btree (kind, alert DESC) WHERE (tenant IS NULL);

CREATE INDEX alerts_of_job ON carillon.alerts USING btree (job, alert DESC) WHERE (job IS NOT NULL);

CREATE INDEX alerts_of_kind ON carillon.alerts USING btree (tenant, kind, alert DESC);

CREATE INDEX alerts_old ON carillon.alerts USING btree (resolved_at) WHERE (resolved_at IS NOT NULL);

CREATE UNIQUE INDEX alerts_open ON carillon.alerts USING btree (COALESCE(tenant, 0), fingerprint) WHERE (resolved_at IS NULL);

CREATE INDEX alerts_open_of_job ON carillon.alerts USING btree (job) WHERE ((job IS NOT NULL) AND (resolved_at IS NULL));

CREATE INDEX alerts_over ON carillon.alerts USING btree (COALESCE(tenant, 0), fingerprint, resolved_at DESC) WHERE (resolved_at IS NOT NULL);

CREATE INDEX alerts_to_route ON carillon.alerts USING btree (route_at) WHERE (route_at IS NOT NULL);

CREATE INDEX api_keys_by_tenant ON carillon.api_keys USING btree (tenant, key_id DESC);

CREATE UNIQUE INDEX api_keys_live_name ON carillon.api_keys USING btree (tenant, name) WHERE (revoked_at IS NULL);

CREATE INDEX audit_log_by_subject ON carillon.audit_log USING btree (tenant, subject, entry DESC);

CREATE INDEX audit_log_together ON carillon.audit_log USING btree (tenant, last_job, first_job) WHERE (jobs IS NOT NULL);

CREATE INDEX dead_letters_alike ON carillon.dead_letters USING btree (tenant, fingerprint, dead_at DESC);

CREATE INDEX dead_letters_by_job ON carillon.dead_letters USING btree (job, due DESC);

CREATE INDEX dead_letters_latest ON carillon.dead_letters USING btree (tenant, dead_at DESC);

CREATE INDEX dead_letters_latest_of_job ON carillon.dead_letters USING btree (job, dead_at DESC);

CREATE INDEX effects_old ON carillon.effects USING btree (created_at);

CREATE INDEX idempotency_keys_old ON carillon.idempotency_keys USING btree (created_at);

CREATE INDEX job_health_old ON carillon.job_health USING btree (updated_at);

CREATE INDEX jobs_by_owner ON carillon.jobs USING btree (tenant, managed_by, job) WHERE ((managed_by IS NOT NULL) AND (state = ANY (ARRAY['active'::text, 'paused'::text, 'ended'::text, 'cancelled'::text])));

CREATE INDEX jobs_by_route ON carillon.jobs USING btree (route, state) WHERE (state = ANY (ARRAY['active'::text, 'paused'::text, 'ended'::text, 'cancelled'::text]));

CREATE INDEX jobs_by_state ON carillon.jobs USING btree (tenant, state, job) WHERE (state = ANY (ARRAY['active'::text, 'paused'::text, 'ended'::text, 'cancelled'::text]));

CREATE INDEX jobs_by_tag ON carillon.jobs USING gin (tags) WHERE ((tags <> '[]'::jsonb) AND (state = ANY (ARRAY['active'::text, 'paused'::text, 'ended'::text, 'cancelled'::text])));

CREATE INDEX jobs_changed ON carillon.jobs USING btree (changed_at) WHERE (changed_at > 0);

CREATE INDEX jobs_collected ON carillon.jobs USING btree (ended_at) WHERE (state = 'collected'::text);

CREATE INDEX jobs_ended ON carillon.jobs USING btree (ended_at) WHERE (state = ANY (ARRAY['ended'::text, 'cancelled'::text, 'deleted'::text]));

CREATE INDEX jobs_excluding ON carillon.jobs USING gin (((definition -> 'exclude'::text))) WHERE (((definition -> 'exclude'::text) <> '[]'::jsonb) AND (state = ANY (ARRAY['active'::text, 'paused'::text])));

CREATE UNIQUE INDEX jobs_live_name ON carillon.jobs USING btree (tenant, name) WHERE (state = ANY (ARRAY['active'::text, 'paused'::text]));

CREATE INDEX jobs_name_search ON carillon.jobs USING gin (name public.gin_trgm_ops) WHERE (state = ANY (ARRAY['active'::text, 'paused'::text, 'ended'::text, 'cancelled'::text]));

CREATE INDEX jobs_past_name ON carillon.jobs USING btree (tenant, name, job) WHERE (state = ANY (ARRAY['ended'::text, 'cancelled'::text]));

CREATE INDEX jobs_text_search ON carillon.jobs USING gin (description public.gin_trgm_ops) WHERE ((description IS NOT NULL) AND (state = ANY (ARRAY['active'::text, 'paused'::text, 'ended'::text, 'cancelled'::text])));

CREATE INDEX jobs_to_resume ON carillon.jobs USING btree (paused_until) WHERE (paused_until IS NOT NULL);

CREATE INDEX ledger_history ON carillon.ledger USING btree (job, due DESC);

CREATE INDEX ledger_recorded ON carillon.ledger USING brin (recorded_at) WITH (pages_per_range='64', autosummarize='on');

CREATE INDEX operations_by_tenant ON carillon.operations USING btree (tenant, operation DESC);

CREATE INDEX operations_going ON carillon.operations USING btree (operation) WHERE (state = 'running'::text);

CREATE UNIQUE INDEX outbox_keys ON carillon.outbox USING btree (tenant, key, COALESCE(job, (0)::bigint)) WHERE ((key IS NOT NULL) AND (refused_at IS NULL));

CREATE INDEX outbox_old ON carillon.outbox USING btree (created_at) WHERE ((done_at IS NOT NULL) OR (refused_at IS NOT NULL));

CREATE INDEX outbox_waiting ON carillon.outbox USING btree (tenant, claimed_until, entry) WHERE ((done_at IS NULL) AND (refused_at IS NULL));

CREATE INDEX queue_cancel ON carillon.queue USING btree (holder) WHERE cancel_requested;

CREATE INDEX queue_ready ON carillon.queue USING btree (route, available_at) WHERE ((holder IS NULL) AND ((places IS NULL) OR (slot >= 0)));

CREATE INDEX queue_remote ON carillon.queue USING btree (holder, deadline) WHERE ((deadline IS NOT NULL) AND (holder IS NOT NULL));

CREATE UNIQUE INDEX queue_slot ON carillon.queue USING btree (job, slot) WHERE (slot IS NOT NULL);

CREATE INDEX queue_waiting ON carillon.queue USING btree (route, available_at) WHERE ((holder IS NULL) AND (places IS NOT NULL) AND (COALESCE((slot)::integer, '-1'::integer) < 0));

CREATE INDEX redrives_by_tenant ON carillon.redrives USING btree (tenant, redrive DESC);

CREATE INDEX redrives_going ON carillon.redrives USING btree (redrive) WHERE (ended_at IS NULL);

CREATE INDEX replays_backfilling ON carillon.replays USING btree (partition, next_at) WHERE ((state = 'running'::text) AND (kind = 'backfill'::text));

CREATE INDEX replays_backfills ON carillon.replays USING btree (tenant, replay DESC) WHERE (kind = 'backfill'::text);

CREATE INDEX replays_backfills_of_job ON carillon.replays USING btree (job, replay DESC) WHERE (kind = 'backfill'::text);

CREATE INDEX replays_of_job ON carillon.replays USING btree (job) WHERE (state = ANY (ARRAY['running'::text, 'paused'::text]));

CREATE INDEX replays_running ON carillon.replays USING btree (partition, cursor_ms) WHERE (state = 'running'::text);

CREATE INDEX run_counts_old ON carillon.run_counts USING btree (at);

CREATE UNIQUE INDEX signing_secrets_current ON carillon.signing_secrets USING btree (tenant) WHERE (retires_at IS NULL);

CREATE INDEX signing_secrets_retiring ON carillon.signing_secrets USING btree (retires_at) WHERE (retires_at IS NOT NULL);

CREATE INDEX timers_start ON carillon.timers USING btree (partition, start_at, job) WHERE (start_at IS NOT NULL);

ALTER TABLE carillon.audit_log ALTER COLUMN jobs SET STATISTICS 0;

ALTER TABLE carillon.audit_log ALTER COLUMN names SET STATISTICS 0;

ALTER TABLE carillon.audit_log ALTER COLUMN requests SET STATISTICS 0;

ALTER TABLE carillon.jobs ALTER COLUMN definition SET STATISTICS 0;

ALTER TABLE carillon.alert_channels ADD CONSTRAINT alert_channels_tenant_fkey FOREIGN KEY (tenant) REFERENCES carillon.tenants(tenant);

ALTER TABLE carillon.alert_notifications ADD CONSTRAINT alert_notifications_alert_fkey FOREIGN KEY (alert) REFERENCES carillon.alerts(alert) ON DELETE CASCADE;

ALTER TABLE carillon.alert_notifications ADD CONSTRAINT alert_notifications_channel_fkey FOREIGN KEY (channel) REFERENCES carillon.alert_channels(channel) ON DELETE CASCADE;

ALTER TABLE carillon.alert_rules ADD CONSTRAINT alert_rules_tenant_fkey FOREIGN KEY (tenant) REFERENCES carillon.tenants(tenant);

ALTER TABLE carillon.alert_silences ADD CONSTRAINT alert_silences_tenant_fkey FOREIGN KEY (tenant) REFERENCES carillon.tenants(tenant);

ALTER TABLE carillon.alerts ADD CONSTRAINT alerts_tenant_fkey FOREIGN KEY (tenant) REFERENCES carillon.tenants(tenant);

ALTER TABLE carillon.api_keys ADD CONSTRAINT api_keys_tenant_fkey FOREIGN KEY (tenant) REFERENCES carillon.tenants(tenant);

ALTER TABLE carillon.calendars ADD CONSTRAINT calendars_tenant_fkey FOREIGN KEY (tenant) REFERENCES carillon.tenants(tenant);

ALTER TABLE carillon.enqueuers ADD CONSTRAINT enqueuers_tenant_fkey FOREIGN KEY (tenant) REFERENCES carillon.tenants(tenant);

ALTER TABLE carillon.incarnations ADD CONSTRAINT incarnations_tenant_fkey FOREIGN KEY (tenant) REFERENCES carillon.tenants(tenant);

ALTER TABLE carillon.operations ADD CONSTRAINT operations_tenant_fkey FOREIGN KEY (tenant) REFERENCES carillon.tenants(tenant);

ALTER TABLE carillon.outbox ADD CONSTRAINT outbox_tenant_fkey FOREIGN KEY (tenant) REFERENCES carillon.tenants(tenant);

ALTER TABLE carillon.redrives ADD CONSTRAINT redrives_tenant_fkey FOREIGN KEY (tenant) REFERENCES carillon.tenants(tenant);

ALTER TABLE carillon.replays ADD CONSTRAINT replays_tenant_fkey FOREIGN KEY (tenant) REFERENCES carillon.tenants(tenant);

ALTER TABLE carillon.routes ADD CONSTRAINT routes_tenant_fkey FOREIGN KEY (tenant) REFERENCES carillon.tenants(tenant);

ALTER TABLE carillon.run_counts ADD CONSTRAINT run_counts_tenant_fkey FOREIGN KEY (tenant) REFERENCES carillon.tenants(tenant);

ALTER TABLE carillon.signing_secrets ADD CONSTRAINT signing_secrets_tenant_fkey FOREIGN KEY (tenant) REFERENCES carillon.tenants(tenant);

ALTER TABLE carillon.targets ADD CONSTRAINT targets_tenant_fkey FOREIGN KEY (tenant) REFERENCES carillon.tenants(tenant);

ALTER TABLE carillon.tenant_jobs ADD CONSTRAINT tenant_jobs_tenant_fkey FOREIGN KEY (tenant) REFERENCES carillon.tenants(tenant);

ALTER TABLE carillon.tenant_slots ADD CONSTRAINT tenant_slots_tenant_fkey FOREIGN KEY (tenant) REFERENCES carillon.tenants(tenant);

CREATE TRIGGER jobs_expecting AFTER INSERT OR UPDATE OF definition ON carillon.jobs FOR EACH ROW WHEN ((new.definition ? 'expect'::text)) EXECUTE FUNCTION carillon.note_expectation();

CREATE TRIGGER jobs_given_up BEFORE UPDATE OF state ON carillon.jobs FOR EACH ROW WHEN (((old.state = ANY (ARRAY['active'::text, 'paused'::text])) AND (new.state <> ALL (ARRAY['active'::text, 'paused'::text, 'ended'::text])))) EXECUTE FUNCTION carillon.count_job('-1');

CREATE TRIGGER jobs_looked_for BEFORE INSERT ON carillon.jobs FOR EACH ROW WHEN ((new.definition ?| '{description,tags,managed_by}'::text[])) EXECUTE FUNCTION carillon.note_what_is_looked_for();

CREATE TRIGGER jobs_looked_for_anew BEFORE UPDATE OF definition ON carillon.jobs FOR EACH ROW EXECUTE FUNCTION carillon.note_what_is_looked_for();

CREATE TRIGGER jobs_revived BEFORE UPDATE OF state ON carillon.jobs FOR EACH ROW WHEN (((old.state <> ALL (ARRAY['active'::text, 'paused'::text])) AND (new.state = ANY (ARRAY['active'::text, 'paused'::text])))) EXECUTE FUNCTION carillon.count_job('1');

ALTER TABLE carillon.alert_channels ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY fleet ON carillon.alert_channels AS PERMISSIVE FOR ALL TO carillon_fleet USING (true);

CREATE POLICY own_rows ON carillon.alert_channels AS PERMISSIVE FOR ALL TO carillon_api USING ((tenant = (NULLIF(current_setting('carillon.tenant'::text, true), ''::text))::integer));

ALTER TABLE carillon.alert_notifications ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY fleet ON carillon.alert_notifications AS PERMISSIVE FOR ALL TO carillon_fleet USING (true);

CREATE POLICY own_rows ON carillon.alert_notifications AS PERMISSIVE FOR ALL TO carillon_api USING ((tenant = (NULLIF(current_setting('carillon.tenant'::text, true), ''::text))::integer));

ALTER TABLE carillon.alert_rules ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY fleet ON carillon.alert_rules AS PERMISSIVE FOR ALL TO carillon_fleet USING (true);

CREATE POLICY own_rows ON carillon.alert_rules AS PERMISSIVE FOR ALL TO carillon_api USING ((tenant = (NULLIF(current_setting('carillon.tenant'::text, true), ''::text))::integer));

ALTER TABLE carillon.alert_silences ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY fleet ON carillon.alert_silences AS PERMISSIVE FOR ALL TO carillon_fleet USING (true);

CREATE POLICY own_rows ON carillon.alert_silences AS PERMISSIVE FOR ALL TO carillon_api USING ((tenant = (NULLIF(current_setting('carillon.tenant'::text, true), ''::text))::integer));

ALTER TABLE carillon.alerts ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY fleet ON carillon.alerts AS PERMISSIVE FOR ALL TO carillon_fleet USING (true);

CREATE POLICY own_rows ON carillon.alerts AS PERMISSIVE FOR ALL TO carillon_api USING ((tenant = (NULLIF(current_setting('carillon.tenant'::text, true), ''::text))::integer));

CREATE POLICY rows_of_the_fleet ON carillon.alerts AS PERMISSIVE FOR SELECT TO carillon_api USING ((tenant IS NULL));

ALTER TABLE carillon.api_keys ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY fleet ON carillon.api_keys AS PERMISSIVE FOR ALL TO carillon_fleet USING (true);

CREATE POLICY own_rows ON carillon.api_keys AS PERMISSIVE FOR ALL TO carillon_api USING ((tenant = (NULLIF(current_setting('carillon.tenant'::text, true), ''::text))::integer));

ALTER TABLE carillon.audit_log ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY fleet ON carillon.audit_log AS PERMISSIVE FOR ALL TO carillon_fleet USING (true);

CREATE POLICY own_rows ON carillon.audit_log AS PERMISSIVE FOR ALL TO carillon_api USING ((tenant = (NULLIF(current_setting('carillon.tenant'::text, true), ''::text))::integer));

ALTER TABLE carillon.calendars ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY fleet ON carillon.calendars AS PERMISSIVE FOR ALL TO carillon_fleet USING (true);

CREATE POLICY own_rows ON carillon.calendars AS PERMISSIVE FOR ALL TO carillon_api USING ((tenant = (NULLIF(current_setting('carillon.tenant'::text, true), ''::text))::integer));

ALTER TABLE carillon.dead_letters ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY fleet ON carillon.dead_letters AS PERMISSIVE FOR ALL TO carillon_fleet USING (true);

CREATE POLICY own_rows ON carillon.dead_letters AS PERMISSIVE FOR ALL TO carillon_api USING ((tenant = (NULLIF(current_setting('carillon.tenant'::text, true), ''::text))::integer));

ALTER TABLE carillon.effects ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY fleet ON carillon.effects AS PERMISSIVE FOR ALL TO carillon_fleet USING (true);

CREATE POLICY own_rows ON carillon.effects AS PERMISSIVE FOR ALL TO carillon_api USING ((tenant = (NULLIF(current_setting('carillon.tenant'::text, true), ''::text))::integer));

ALTER TABLE carillon.enqueuers ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY fleet ON carillon.enqueuers AS PERMISSIVE FOR ALL TO carillon_fleet USING (true);

CREATE POLICY own_rows ON carillon.enqueuers AS PERMISSIVE FOR ALL TO carillon_api USING ((tenant = (NULLIF(current_setting('carillon.tenant'::text, true), ''::text))::integer));

ALTER TABLE carillon.idempotency_keys ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY fleet ON carillon.idempotency_keys AS PERMISSIVE FOR ALL TO carillon_fleet USING (true);

CREATE POLICY own_rows ON carillon.idempotency_keys AS PERMISSIVE FOR ALL TO carillon_api USING ((tenant = (NULLIF(current_setting('carillon.tenant'::text, true), ''::text))::integer));

ALTER TABLE carillon.incarnations ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY fleet ON carillon.incarnations AS PERMISSIVE FOR ALL TO carillon_fleet USING (true);

CREATE POLICY own_rows ON carillon.incarnations AS PERMISSIVE FOR ALL TO carillon_api USING ((tenant = (NULLIF(current_setting('carillon.tenant'::text, true), ''::text))::integer));

CREATE POLICY rows_of_the_fleet ON carillon.incarnations AS PERMISSIVE FOR SELECT TO carillon_api USING ((tenant IS NULL));

ALTER TABLE carillon.job_health ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY fleet ON carillon.job_health AS PERMISSIVE FOR ALL TO carillon_fleet USING (true);

CREATE POLICY own_rows ON carillon.job_health AS PERMISSIVE FOR ALL TO carillon_api USING ((tenant = (NULLIF(current_setting('carillon.tenant'::text, true), ''::text))::integer));

ALTER TABLE carillon.job_versions ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY fleet ON carillon.job_versions AS PERMISSIVE FOR ALL TO carillon_fleet USING (true);

CREATE POLICY own_rows ON carillon.job_versions AS PERMISSIVE FOR ALL TO carillon_api USING ((tenant = (NULLIF(current_setting('carillon.tenant'::text, true), ''::text))::integer));

ALTER TABLE carillon.jobs ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY fleet ON carillon.jobs AS PERMISSIVE FOR ALL TO carillon_fleet USING (true);

CREATE POLICY own_rows ON carillon.jobs AS PERMISSIVE FOR ALL TO carillon_api USING ((tenant = (NULLIF(current_setting('carillon.tenant'::text, true), ''::text))::integer));

ALTER TABLE carillon.ledger ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY fleet ON carillon.ledger AS PERMISSIVE FOR ALL TO carillon_fleet USING (true);

CREATE POLICY own_rows ON carillon.ledger AS PERMISSIVE FOR ALL TO carillon_api USING ((tenant = (NULLIF(current_setting('carillon.tenant'::text, true), ''::text))::integer));

ALTER TABLE carillon.operations ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY fleet ON carillon.operations AS PERMISSIVE FOR ALL TO carillon_fleet USING (true);

CREATE POLICY own_rows ON carillon.operations AS PERMISSIVE FOR ALL TO carillon_api USING ((tenant = (NULLIF(current_setting('carillon.tenant'::text, true), ''::text))::integer));

ALTER TABLE carillon.outbox ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY fleet ON carillon.outbox AS PERMISSIVE FOR ALL TO carillon_fleet USING (true);

CREATE POLICY own_rows ON carillon.outbox AS PERMISSIVE FOR ALL TO carillon_api USING ((tenant = (NULLIF(current_setting('carillon.tenant'::text, true), ''::text))::integer));

ALTER TABLE carillon.queue ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY fleet ON carillon.queue AS PERMISSIVE FOR ALL TO carillon_fleet USING (true);

CREATE POLICY own_rows ON carillon.queue AS PERMISSIVE FOR ALL TO carillon_api USING ((tenant = (NULLIF(current_setting('carillon.tenant'::text, true), ''::text))::integer));

ALTER TABLE carillon.redrives ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY fleet ON carillon.redrives AS PERMISSIVE FOR ALL TO carillon_fleet USING (true);

CREATE POLICY own_rows ON carillon.redrives AS PERMISSIVE FOR ALL TO carillon_api USING ((tenant = (NULLIF(current_setting('carillon.tenant'::text, true), ''::text))::integer));

ALTER TABLE carillon.replays ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY fleet ON carillon.replays AS PERMISSIVE FOR ALL TO carillon_fleet USING (true);

CREATE POLICY own_rows ON carillon.replays AS PERMISSIVE FOR ALL TO carillon_api USING ((tenant = (NULLIF(current_setting('carillon.tenant'::text, true), ''::text))::integer));

ALTER TABLE carillon.routes ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY fleet ON carillon.routes AS PERMISSIVE FOR ALL TO carillon_fleet USING (true);

CREATE POLICY own_rows ON carillon.routes AS PERMISSIVE FOR ALL TO carillon_api USING ((tenant = (NULLIF(current_setting('carillon.tenant'::text, true), ''::text))::integer));

ALTER TABLE carillon.run_counts ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY fleet ON carillon.run_counts AS PERMISSIVE FOR ALL TO carillon_fleet USING (true);

CREATE POLICY own_rows ON carillon.run_counts AS PERMISSIVE FOR ALL TO carillon_api USING ((tenant = (NULLIF(current_setting('carillon.tenant'::text, true), ''::text))::integer));

ALTER TABLE carillon.segments ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY fleet ON carillon.segments AS PERMISSIVE FOR ALL TO carillon_fleet USING (true);

CREATE POLICY own_rows ON carillon.segments AS PERMISSIVE FOR ALL TO carillon_api USING ((tenant = (NULLIF(current_setting('carillon.tenant'::text, true), ''::text))::integer));

ALTER TABLE carillon.signing_secrets ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY fleet ON carillon.signing_secrets AS PERMISSIVE FOR ALL TO carillon_fleet USING (true);

CREATE POLICY own_rows ON carillon.signing_secrets AS PERMISSIVE FOR ALL TO carillon_api USING ((tenant = (NULLIF(current_setting('carillon.tenant'::text, true), ''::text))::integer));

ALTER TABLE carillon.targets ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY fleet ON carillon.targets AS PERMISSIVE FOR ALL TO carillon_fleet USING (true);

CREATE POLICY own_rows ON carillon.targets AS PERMISSIVE FOR ALL TO carillon_api USING ((tenant = (NULLIF(current_setting('carillon.tenant'::text, true), ''::text))::integer));

ALTER TABLE carillon.tenant_jobs ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY fleet ON carillon.tenant_jobs AS PERMISSIVE FOR ALL TO carillon_fleet USING (true);

CREATE POLICY own_rows ON carillon.tenant_jobs AS PERMISSIVE FOR ALL TO carillon_api USING ((tenant = (NULLIF(current_setting('carillon.tenant'::text, true), ''::text))::integer));

ALTER TABLE carillon.tenant_slots ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY fleet ON carillon.tenant_slots AS PERMISSIVE FOR ALL TO carillon_fleet USING (true);

CREATE POLICY own_rows ON carillon.tenant_slots AS PERMISSIVE FOR ALL TO carillon_api USING ((tenant = (NULLIF(current_setting('carillon.tenant'::text, true), ''::text))::integer));

ALTER TABLE carillon.tenants ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY fleet ON carillon.tenants AS PERMISSIVE FOR ALL TO carillon_fleet USING (true);

CREATE POLICY own_rows ON carillon.tenants AS PERMISSIVE FOR ALL TO carillon_api USING ((tenant = (NULLIF(current_setting('carillon.tenant'::text, true), ''::text))::integer));

ALTER TABLE carillon.tick_changes ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY fleet ON carillon.tick_changes AS PERMISSIVE FOR ALL TO carillon_fleet USING (true);

CREATE POLICY own_rows ON carillon.tick_changes AS PERMISSIVE FOR ALL TO carillon_api USING ((tenant = (NULLIF(current_setting('carillon.tenant'::text, true), ''::text))::integer));

ALTER TABLE carillon.timers ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY fleet ON carillon.timers AS PERMISSIVE FOR ALL TO carillon_fleet USING (true);

CREATE POLICY own_rows ON carillon.timers AS PERMISSIVE FOR ALL TO carillon_api USING ((tenant = (NULLIF(current_setting('carillon.tenant'::text, true), ''::text))::integer));
