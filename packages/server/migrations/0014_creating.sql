-- Creating many jobs: how many a tenant may have and how fast it may make them, and answers kept under a caller's key.

-- NULL: the server's setting.
ALTER TABLE carillon.tenants
  ADD COLUMN IF NOT EXISTS max_jobs int CHECK (max_jobs >= 0),
  ADD COLUMN IF NOT EXISTS create_per_second float8 CHECK (create_per_second > 0);

-- How many live jobs a tenant has, at most: never fewer than it has, so that nobody who is let in by it exceeds the quota.
-- Locked by every statement that creates, once, whatever the number of jobs. What ends by itself is not taken off here,
-- because firing must not wait for it: recount-jobs.sql finds out when the number has reached the quota.
-- `tokens` and `refilled_at` are the bucket of the creation rate; `granted` is what the last statement was let create.
-- A tenant that never created has no row.
CREATE TABLE carillon.tenant_jobs (
  tenant        int PRIMARY KEY REFERENCES carillon.tenants,
  jobs          int NOT NULL CHECK (jobs >= 0),
  granted       int NOT NULL DEFAULT 0,
  tokens        float8 NOT NULL DEFAULT 0,
  refilled_at   bigint NOT NULL DEFAULT 0,
  recounted_at  bigint NOT NULL DEFAULT carillon.now_ms()
) WITH (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- The bucket holds what may be created in one second, and one at least.
CREATE FUNCTION carillon.create_tokens(per_second float8, tokens float8, refilled_at bigint) RETURNS float8
  LANGUAGE sql STABLE PARALLEL SAFE
  AS $$ SELECT least(greatest(1, per_second), tokens + greatest(0, carillon.now_ms() - refilled_at) / 1000.0 * per_second) $$;

-- How many of the jobs that are asked for may be created now.
CREATE FUNCTION carillon.creatable(asked int, max_jobs int, jobs int, per_second float8, tokens float8,
                                   refilled_at bigint) RETURNS int
  LANGUAGE sql STABLE PARALLEL SAFE
  AS $$ SELECT least(asked, greatest(0, max_jobs - jobs),
                     CASE WHEN per_second IS NULL THEN asked
                          ELSE least(asked, floor(carillon.create_tokens(per_second, tokens, refilled_at)))::int END) $$;

-- Whoever deletes or cancels a job has its place at once; a job that comes back to life takes one. Before the update where
-- one is taken: the counter is locked before the name, as creating does. An end by firing meets neither.
CREATE FUNCTION carillon.count_job() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE carillon.tenant_jobs SET jobs = greatest(0, jobs + TG_ARGV[0]::int) WHERE tenant = new.tenant;
  RETURN new;
END $$;
CREATE TRIGGER jobs_revived BEFORE UPDATE OF state ON carillon.jobs FOR EACH ROW
  WHEN (old.state NOT IN ('active', 'paused') AND new.state IN ('active', 'paused'))
  EXECUTE FUNCTION carillon.count_job('1');
CREATE TRIGGER jobs_given_up AFTER UPDATE OF state ON carillon.jobs FOR EACH ROW
  WHEN (old.state IN ('active', 'paused') AND new.state NOT IN ('active', 'paused', 'ended'))
  EXECUTE FUNCTION carillon.count_job('-1');

-- The answer to a call, kept in the transaction of its effect. `request` is a hash of method, path and body.
TRUNCATE carillon.idempotency_keys;
ALTER TABLE carillon.idempotency_keys
  DROP COLUMN answer,
  ADD COLUMN status smallint NOT NULL,
  ADD COLUMN body text NOT NULL,
  ADD COLUMN location text;
CREATE INDEX idempotency_keys_old ON carillon.idempotency_keys (created_at);
