-- Keys that can be rotated, quotas of tenants, an audit that names key and request, and row-level security as a second wall
-- behind the tenant that every statement names.

-- ── Keys ─────────────────────────────────────────────────────────────────────────────────────────────────────
-- A rotation keeps the key's id and name: the secret before it opens beside the new one until its time is over.
ALTER TABLE carillon.api_keys
  ADD COLUMN previous_hash bytea UNIQUE,
  ADD COLUMN previous_expires_at bigint,
  ADD COLUMN rotated_at bigint,
  ADD CHECK ((previous_hash IS NULL) = (previous_expires_at IS NULL));
-- The audit names keys by their names: two live ones of a tenant never share one. It also lists the keys of a tenant.
CREATE UNIQUE INDEX api_keys_live_name ON carillon.api_keys (tenant, name) WHERE revoked_at IS NULL;
CREATE INDEX api_keys_by_tenant ON carillon.api_keys (tenant, key_id DESC);

-- ── Tenants ──────────────────────────────────────────────────────────────────────────────────────────────────
-- NULL: the server's setting.
ALTER TABLE carillon.tenants
  ADD COLUMN IF NOT EXISTS max_jobs int CHECK (max_jobs >= 0),
  ADD COLUMN IF NOT EXISTS create_per_second float8 CHECK (create_per_second > 0);

-- ── Audit ────────────────────────────────────────────────────────────────────────────────────────────────────
-- `actor` is the key's name, or `local` where no key is needed; a name may be given again after a revocation, an id never.
ALTER TABLE carillon.audit_log ADD COLUMN actor_key uuid, ADD COLUMN request_id text;
-- "What happened to this job?" is the question that a log is opened for.
CREATE INDEX audit_log_by_subject ON carillon.audit_log (tenant, subject, entry DESC);

-- ── The second wall ──────────────────────────────────────────────────────────────────────────────────────────
-- Days of the ledger are made and dropped by whoever owns the tables, on behalf of a server that does not.
ALTER FUNCTION carillon.make_ledger_day(date) SECURITY DEFINER SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION carillon.drop_ledger_days(date) SECURITY DEFINER SET search_path = pg_catalog, pg_temp;
-- So is its index by time summarized, where there is one.
DO $$ BEGIN
  IF to_regprocedure('carillon.summarize_ledger()') IS NOT NULL THEN
    ALTER FUNCTION carillon.summarize_ledger() SECURITY DEFINER SET search_path = pg_catalog, pg_temp;
  END IF;
END $$;

-- The two roles that servers work as. They belong to the whole Postgres server, not to this database: another database may
-- make them at the same moment, and who comes second finds them made.
CREATE FUNCTION carillon.ensure_roles() RETURNS void LANGUAGE plpgsql AS $$
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
END $$;

-- Puts the wall round every table, also those that a later migration makes: called after each run of migrations, it changes
-- only what is missing. A table with a column `tenant` shows the role carillon_api nothing but the rows of the tenant that
-- its connection is set to, and nothing at all while it is set to none; a row without a tenant is the fleet's, which
-- everybody may read. The role carillon_fleet sees all: its policy is a constant and costs no plan anything.
-- Partitions have no grants: what is asked of the ledger is asked of the whole.
CREATE FUNCTION carillon.raise_walls() RETURNS void LANGUAGE plpgsql AS $$
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
END $$;
