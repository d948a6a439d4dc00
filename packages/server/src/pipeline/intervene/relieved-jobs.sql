-- Open events about dead letters of jobs that have none any more. One that stands for many jobs ends by itself when it is said no more
-- (settle.sql of the alerts). Plain read.
-- Index: alerts_open holds the open ones only, and they are few; jobs.id, dead_letters_by_job.
SELECT a.tenant, a.fingerprint
FROM carillon.alerts a
WHERE a.resolved_at IS NULL AND a.kind = 'dead_letter' AND a.fingerprint <> 'dead_letter:many'
  AND NOT EXISTS (
    SELECT FROM carillon.jobs j JOIN carillon.dead_letters d ON d.job = j.job
    WHERE j.id = CASE WHEN a.fingerprint <> 'dead_letter:many' THEN substr(a.fingerprint, length('dead_letter:') + 1)::uuid END
  )
