-- What the planner knows of columns whose values no statement compares: whole definitions, and the lists of an audit of many. Each ANALYZE
-- sorted tens of thousands of them, and autovacuum analyzes every few seconds while jobs are registered in bulk. What it knew before
-- this stays as it was.
ALTER TABLE carillon.jobs ALTER COLUMN definition SET STATISTICS 0;
ALTER TABLE carillon.audit_log
  ALTER COLUMN jobs SET STATISTICS 0, ALTER COLUMN names SET STATISTICS 0, ALTER COLUMN requests SET STATISTICS 0;
