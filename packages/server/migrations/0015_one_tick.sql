-- What people asked of one tick: to leave it out, or to start it at another time. The tick keeps its `due`, which is its
-- identity; only a row here says that it is not run, or when. Rows of ticks that have passed stay: with them verify tells a
-- tick that was left out on request from those that a range of skipped ticks stands for.
CREATE TABLE carillon.tick_changes (
  job        bigint NOT NULL,
  due        bigint NOT NULL,
  tenant     int NOT NULL,
  action     text NOT NULL CHECK (action IN ('skip', 'move')),
  start_at   bigint CHECK ((action = 'move') = (start_at IS NOT NULL)),
  reason     text,
  actor      text,
  created_at bigint NOT NULL DEFAULT carillon.now_ms(),
  partition  smallint NOT NULL,
  PRIMARY KEY (job, due, partition)
);

-- The latest tick of the job that anything was asked of. Firing reads tick_changes only where this lies ahead of the
-- cursor: a job of which nothing was ever asked costs nothing.
ALTER TABLE carillon.jobs ADD COLUMN ticks_changed_until bigint;

-- A backfill runs ticks that were chosen when it was asked for, each once, in order: the next one is ticks[done + 1].
-- next_at: not before this instant, for its pace. ended_at: when its last run was made, or it was cancelled.
ALTER TABLE carillon.replays ADD COLUMN ticks bigint[];
ALTER TABLE carillon.replays ADD COLUMN next_at bigint;
ALTER TABLE carillon.replays ADD COLUMN ended_at bigint;
ALTER TABLE carillon.replays ADD COLUMN only_missing boolean;
ALTER TABLE carillon.replays ADD CHECK ((kind = 'backfill') = (ticks IS NOT NULL));
ALTER TABLE carillon.replays ADD CHECK ((kind = 'backfill') = (next_at IS NOT NULL));
ALTER TABLE carillon.replays ADD CHECK (kind <> 'backfill' OR (per_minute > 0 AND total = cardinality(ticks)));

CREATE INDEX replays_backfilling ON carillon.replays (partition, next_at) WHERE state = 'running' AND kind = 'backfill';
CREATE INDEX replays_backfills ON carillon.replays (tenant, replay DESC) WHERE kind = 'backfill';
CREATE INDEX replays_backfills_of_job ON carillon.replays (job, replay DESC) WHERE kind = 'backfill';
