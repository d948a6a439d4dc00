-- One dead letter with all that is needed to understand it: what was to be delivered, where, by which version of the job.
-- `payload` is text, because a payload may itself be null. Plain read of one snapshot: a version is in jobs or in
-- job_versions. Index: dead_letters', jobs' and job_versions' primary keys.
-- @whole definition
-- @param tenant int
-- @param due bigint
-- @param job bigint
-- @param origin smallint
-- @param seq int
-- @param partition smallint
SELECT d.due, d.job, d.origin, d.seq, d.partition, d.version, d.attempts, d.max_attempts, d.round, d.catch_up, d.reason,
       d.error, d.result, d.fingerprint, carillon.error_pattern(d.reason, d.error) AS pattern, d.dead_at,
       d.payload IS NOT NULL AS own_payload, d.payload::text AS payload, j.id::text AS uuid, j.name, j.state AS job_state,
       j.version AS current_version,
       CASE WHEN j.version = d.version THEN j.definition ELSE old.definition END AS definition
FROM carillon.dead_letters d
JOIN carillon.jobs j ON j.job = d.job
LEFT JOIN carillon.job_versions old ON old.job = d.job AND old.version = d.version
WHERE d.tenant = :tenant AND d.due = :due AND d.job = :job AND d.origin = :origin AND d.seq = :seq
  AND d.partition = :partition
