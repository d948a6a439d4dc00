-- Asks for the re-drive of all dead letters that match. They are counted now, for people who watch; taken are those that
-- are there when their turn comes and that died before this moment. Insert of one row.
-- Index: dead_letters_latest, dead_letters_latest_of_job or dead_letters_alike.
-- @plan each-time
-- @param tenant int
-- @param job bigint
-- @param fingerprint text
-- @param after bigint
-- @param before bigint
-- @param per_second float8
-- @param canary int
WITH clock AS MATERIALIZED (
  SELECT carillon.now_ms() AS now
)
INSERT INTO carillon.redrives (tenant, job, fingerprint, after_ms, before_ms, per_second, canary, total, paced_at, state,
                               created_at)
SELECT :tenant, :job, :fingerprint, :after, least(:before, clock.now + 1), :per_second, :canary,
       (SELECT count(*)::int FROM carillon.dead_letters d
        WHERE d.tenant = :tenant AND (:job IS NULL OR d.job = :job)
          AND (:fingerprint IS NULL OR d.fingerprint = :fingerprint)
          AND d.dead_at >= :after AND d.dead_at < least(:before, clock.now + 1)),
       clock.now - ceil(1000 / :per_second)::bigint, CASE WHEN :canary > 0 THEN 'canary' ELSE 'running' END, clock.now
FROM clock
RETURNING redrive
