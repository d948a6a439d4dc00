-- The definitions that runs were fired with: the present version from jobs, an older one from job_versions. One
-- statement is one snapshot, so a version is in exactly one of the two. Index: both primary keys.
-- @whole definition
-- @param jobs bigint[]
-- @param versions int[]
SELECT w.job, w.version, j.id AS uuid,
       CASE WHEN j.version = w.version THEN j.definition ELSE old.definition END AS definition
FROM unnest(:jobs, :versions) AS w (job, version)
JOIN carillon.jobs j ON j.job = w.job
LEFT JOIN carillon.job_versions old ON old.job = w.job AND old.version = w.version
