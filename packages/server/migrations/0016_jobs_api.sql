-- Jobs as people look for them and put an end to them: description, tags and owner of a definition, cancelled jobs,
-- why a version was made, and the indexes of the list.

-- ── What is looked for ───────────────────────────────────────────────────────────────────────────────────────
-- Made from the definition by the database: whoever writes a definition has written these. As columns, so that a look
-- through a thousand jobs does not unpack a thousand payloads.
ALTER TABLE carillon.jobs
  ADD COLUMN description text GENERATED ALWAYS AS (definition ->> 'description') STORED,
  ADD COLUMN tags jsonb GENERATED ALWAYS AS (definition -> 'tags') STORED,
  ADD COLUMN managed_by text GENERATED ALWAYS AS (definition ->> 'managed_by') STORED,
  -- Since when no tick comes any more because somebody said so. Kept when the job is deleted after that.
  ADD COLUMN cancelled_at bigint,
  ADD COLUMN cancel_reason text,
  -- Why the present version was made.
  ADD COLUMN version_reason text;
ALTER TABLE carillon.job_versions ADD COLUMN reason text;

-- ── Cancelled ────────────────────────────────────────────────────────────────────────────────────────────────
ALTER TABLE carillon.jobs
  DROP CONSTRAINT jobs_state_check,
  DROP CONSTRAINT jobs_check1,
  ADD CONSTRAINT jobs_state_check
    CHECK (state IN ('active', 'paused', 'ended', 'cancelled', 'deleted', 'collected')),
  ADD CONSTRAINT jobs_ended_check
    CHECK ((state IN ('ended', 'cancelled', 'deleted', 'collected')) = (ended_at IS NOT NULL)),
  ADD CONSTRAINT jobs_cancelled_check CHECK (state <> 'cancelled' OR cancelled_at IS NOT NULL),
  ADD CONSTRAINT jobs_cancelled_check1
    CHECK (cancelled_at IS NULL OR state IN ('cancelled', 'deleted', 'collected')),
  ADD CONSTRAINT jobs_cancelled_check2 CHECK (cancelled_at IS NOT NULL OR cancel_reason IS NULL);
DROP INDEX carillon.jobs_ended;
CREATE INDEX jobs_ended ON carillon.jobs (ended_at) WHERE state IN ('ended', 'cancelled', 'deleted');

-- ── The list ─────────────────────────────────────────────────────────────────────────────────────────────────
-- Newest first, of one state or of all: four ordered scans are merged. Costs a registration what the one index did that
-- it takes the place of.
DROP INDEX carillon.jobs_by_tenant;
CREATE INDEX jobs_by_state ON carillon.jobs (tenant, state, job)
  WHERE state IN ('active', 'paused', 'ended', 'cancelled');
-- By name: jobs_live_name has those of live jobs.
CREATE INDEX jobs_past_name ON carillon.jobs (tenant, name, job) WHERE state IN ('ended', 'cancelled');
DROP INDEX carillon.jobs_by_route;
CREATE INDEX jobs_by_route ON carillon.jobs (route, state)
  WHERE state IN ('active', 'paused', 'ended', 'cancelled');
-- Jobs without a tag or an owner cost nothing.
CREATE INDEX jobs_by_tag ON carillon.jobs USING gin (tags)
  WHERE tags <> '[]' AND state IN ('active', 'paused', 'ended', 'cancelled');
CREATE INDEX jobs_by_owner ON carillon.jobs (tenant, managed_by, job)
  WHERE managed_by IS NOT NULL AND state IN ('active', 'paused', 'ended', 'cancelled');

-- Contains-search needs trigrams. pg_trgm is a trusted extension: an owner of the database may create it. Where it is not
-- to be had, there is no index, and a search goes through a bounded number of jobs a page.
DO $$
DECLARE
  home text;
BEGIN
  BEGIN
    CREATE EXTENSION IF NOT EXISTS pg_trgm SCHEMA public;
  EXCEPTION WHEN OTHERS THEN
    RAISE NOTICE 'pg_trgm cannot be created (%): the search for jobs goes through them page by page.', SQLERRM;
  END;
  SELECT n.nspname INTO home
  FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
  WHERE e.extname = 'pg_trgm';
  IF home IS NULL THEN
    RETURN;
  END IF;
  EXECUTE format('CREATE INDEX jobs_name_search ON carillon.jobs USING gin (name %I.gin_trgm_ops)
                  WHERE state IN (''active'', ''paused'', ''ended'', ''cancelled'')', home);
  EXECUTE format('CREATE INDEX jobs_text_search ON carillon.jobs USING gin (description %I.gin_trgm_ops)
                  WHERE description IS NOT NULL AND state IN (''active'', ''paused'', ''ended'', ''cancelled'')', home);
END $$;
