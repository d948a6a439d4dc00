-- What the plain SQL probe writes to: our three hot tables, tuned and without our guards. Instants are milliseconds, keys
-- begin with the due time, so that inserts meet the right edge of their index.
CREATE TABLE timers (
  job bigint PRIMARY KEY,
  partition smallint NOT NULL,
  due bigint NOT NULL
) WITH (fillfactor = 60);

CREATE TABLE queue (
  due bigint NOT NULL,
  job bigint NOT NULL,
  attempt smallint NOT NULL DEFAULT 1,
  worker int NOT NULL,
  leased_at bigint NOT NULL,
  PRIMARY KEY (due, job)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000,
        autovacuum_vacuum_cost_delay = 0);

CREATE TABLE ledger (
  due bigint NOT NULL,
  job bigint NOT NULL,
  attempt smallint NOT NULL,
  outcome smallint NOT NULL,
  worker int NOT NULL,
  started_at bigint NOT NULL,
  finished_at bigint NOT NULL,
  PRIMARY KEY (due, job, attempt)
);
