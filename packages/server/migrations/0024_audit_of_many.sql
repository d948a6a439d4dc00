-- Jobs that one statement registers for one actor leave one row in the audit for all of them, not one row each with its own two
-- entries in indexes: that was a fifth of what storing a job cost. Whoever reads the audit sees an entry for each job all the same.

-- Every entry has a number of its own, in the order of time: a row may stand for as many as lie between two numbers.
ALTER TABLE carillon.audit_log ALTER COLUMN entry SET INCREMENT BY 1024;

-- The jobs, by their ids in ascending order, with their names as they were then, and the requests they came by: NULL where all came
-- by that of the row. The entry of the first is the row's own number.
ALTER TABLE carillon.audit_log
  ADD COLUMN jobs uuid[],
  ADD COLUMN names text[],
  ADD COLUMN requests text[],
  ADD COLUMN first_job uuid,
  ADD COLUMN last_job uuid,
  -- Not looked into for rows of before while everybody waits: 0026 does that.
  ADD CONSTRAINT audit_log_together_check
    CHECK (jobs IS NULL OR (cardinality(jobs) >= 1 AND cardinality(jobs) <= 1024 AND cardinality(names) = cardinality(jobs)
                            AND (requests IS NULL OR cardinality(requests) = cardinality(jobs))
                            AND first_job IS NOT NULL AND last_job >= first_job)) NOT VALID;
-- Not compressed: ids are as good as random, and with names it took longer than writing them down.
ALTER TABLE carillon.audit_log ALTER COLUMN jobs SET STORAGE EXTERNAL, ALTER COLUMN names SET STORAGE EXTERNAL;
