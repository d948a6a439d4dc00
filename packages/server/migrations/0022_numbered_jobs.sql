-- create-fresh-jobs.sql gives jobs their numbers itself, so that their timers and the audit need not look for them. The
-- sequence of an identity column is nobody's but the column's: this one may be used by those who register. It goes on where the
-- other stood, so that no number comes twice.
CREATE SEQUENCE carillon.job_numbers;
SELECT setval('carillon.job_numbers', last_value, is_called) FROM carillon.jobs_job_seq;
ALTER TABLE carillon.jobs ALTER COLUMN job DROP IDENTITY;
ALTER TABLE carillon.jobs ALTER COLUMN job SET DEFAULT nextval('carillon.job_numbers');
ALTER SEQUENCE carillon.job_numbers OWNED BY carillon.jobs.job;
