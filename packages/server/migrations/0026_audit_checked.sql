-- Beside readers and writers: rows of before have no jobs, and pass.
ALTER TABLE carillon.audit_log VALIDATE CONSTRAINT audit_log_together_check;
