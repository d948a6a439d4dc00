-- The scheduler tier in full: overlap, catch-up as second cursors, pauses, the feed of changes, the brake, events.

-- ── Jobs ─────────────────────────────────────────────────────────────────────────────────────────────────────
UPDATE carillon.jobs
SET definition = definition || '{"overlap_policy": "SKIP", "max_concurrent": null}'
WHERE definition IS NOT NULL;
UPDATE carillon.job_versions
SET definition = definition || '{"overlap_policy": "SKIP", "max_concurrent": null}';

ALTER TABLE carillon.jobs
  ADD COLUMN changed_at    bigint NOT NULL DEFAULT carillon.now_ms(),  -- any change that its owner must learn of
  ADD COLUMN paused_at     bigint,
  ADD COLUMN pause_reason  text,
  ADD COLUMN paused_until  bigint,                -- when it resumes by itself
  ADD CHECK ((state = 'paused') = (paused_at IS NOT NULL)),
  ADD CHECK (paused_at IS NOT NULL OR (pause_reason IS NULL AND paused_until IS NULL));
-- The feed: owners read what changed since they last looked, with some seconds of overlap for late committers.
CREATE INDEX jobs_changed ON carillon.jobs (changed_at);
CREATE INDEX jobs_to_resume ON carillon.jobs (paused_until) WHERE paused_until IS NOT NULL;
-- Jobs that name a calendar: they change when it does.
CREATE INDEX jobs_excluding ON carillon.jobs USING gin ((definition -> 'exclude'))
  WHERE definition -> 'exclude' <> '[]' AND state IN ('active', 'paused');

-- ── Partitions ───────────────────────────────────────────────────────────────────────────────────────────────
-- The zone data with which the cursors of this partition were last computed.
ALTER TABLE carillon.partitions ADD COLUMN zone_data text;

-- ── Incarnations ─────────────────────────────────────────────────────────────────────────────────────────────
-- What a process says of itself with every heartbeat, for people who look: lag, overload, timers in its wheel.
ALTER TABLE carillon.incarnations ADD COLUMN report jsonb NOT NULL DEFAULT '{}';

-- ── Queue ────────────────────────────────────────────────────────────────────────────────────────────────────
-- 0 … places − 1: running places. −1: the one waiting place of QUEUE and REPLACE; its run takes a running place
-- when it is leased. NULL with places: waits for a retry, or for a place. NULL without: no limit.
ALTER TABLE carillon.queue ADD CHECK (slot >= -1);

-- ── Replays ──────────────────────────────────────────────────────────────────────────────────────────────────
-- Every tick up to a timer's accounted_through is in queue or ledger, or in a replay that runs or is paused: there
-- from cursor_ms, the next tick to run, to to_ms. Ticks of a replay are computed from the version it was made for.
ALTER TABLE carillon.replays
  ADD COLUMN version  int NOT NULL,
  ADD COLUMN reason   text NOT NULL,              -- what kept the ticks from running: missed, paused, overload, edited
  ALTER COLUMN total SET NOT NULL;
CREATE INDEX replays_of_job ON carillon.replays (job) WHERE state IN ('running', 'paused');

-- One number for each run that somebody triggers: several may be asked for in one millisecond.
CREATE SEQUENCE carillon.trigger_seq AS int CYCLE;

-- ── The brake ────────────────────────────────────────────────────────────────────────────────────────────────
-- An operator's order to the whole fleet during an incident: fire windows so many times as wide, catch-up at a part
-- of its pace. It always has an end, so that nobody can forget it.
CREATE TABLE carillon.brake (
  one              boolean PRIMARY KEY DEFAULT true CHECK (one),
  window_factor    double precision NOT NULL CHECK (window_factor BETWEEN 1 AND 100),
  catch_up_factor  double precision NOT NULL CHECK (catch_up_factor BETWEEN 0 AND 1),
  reason           text NOT NULL,
  set_at           bigint NOT NULL DEFAULT carillon.now_ms(),
  ends_at          bigint NOT NULL
);

-- ── Events ───────────────────────────────────────────────────────────────────────────────────────────────────
-- Some concern the fleet and no tenant.
ALTER TABLE carillon.alerts ALTER COLUMN tenant DROP NOT NULL;
DROP INDEX carillon.alerts_open;
CREATE UNIQUE INDEX alerts_open ON carillon.alerts (coalesce(tenant, 0), fingerprint) WHERE resolved_at IS NULL;
