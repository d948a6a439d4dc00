-- Many entries are looked through for this, beside readers.
-- By job: ids begin with the time, and those of one row were made within a minute, so that few rows come into question.
CREATE INDEX audit_log_together ON carillon.audit_log (tenant, last_job, first_job) WHERE jobs IS NOT NULL;
