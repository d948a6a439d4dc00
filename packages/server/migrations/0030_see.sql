-- What is counted over the whole queue is kept apart from the signs of life of the fleet, which an index tells at once: a count that takes
-- long, or fails, holds up no judgement. `count_at`: from when on somebody counts again.
ALTER TABLE carillon.fleet_sample
  ADD COLUMN counts     jsonb  NOT NULL DEFAULT '{}',
  ADD COLUMN counted_at bigint NOT NULL DEFAULT 0,
  ADD COLUMN count_at   bigint NOT NULL DEFAULT 0;

-- Jobs that expect something: most fleets have few, and what is late is told of these alone.
CREATE INDEX jobs_expecting ON carillon.jobs (job) WHERE definition ? 'expect' AND state IN ('active', 'paused', 'ended');

-- Pages of alerts: those that go on are few among many that are over; and of one kind, or of one job, there may be few or many. Those of the
-- fleet have indexes of their own: by a condition IS NULL on its first column an index gives no order.
CREATE INDEX alerts_going_on ON carillon.alerts (tenant, alert DESC) WHERE resolved_at IS NULL;
CREATE INDEX alerts_of_kind ON carillon.alerts (tenant, kind, alert DESC);
CREATE INDEX alerts_of_job ON carillon.alerts (job, alert DESC) WHERE job IS NOT NULL;
CREATE INDEX alerts_of_fleet ON carillon.alerts (alert DESC) WHERE tenant IS NULL;
CREATE INDEX alerts_of_fleet_kind ON carillon.alerts (kind, alert DESC) WHERE tenant IS NULL;
