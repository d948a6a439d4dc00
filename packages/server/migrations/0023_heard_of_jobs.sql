-- A job that starts long after its registration is not told to the schedulers, which read it when they come to it: its
-- changed_at is 0, and no index is spent on it, until it is first changed.
DROP INDEX carillon.jobs_changed;
CREATE INDEX jobs_changed ON carillon.jobs (changed_at) WHERE changed_at > 0;
