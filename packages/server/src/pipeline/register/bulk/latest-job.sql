-- The latest key of a job, of any tenant: what is registered from here on has a later one. Index: jobs' primary key.
SELECT coalesce(max(job), 0) AS job FROM carillon.jobs
