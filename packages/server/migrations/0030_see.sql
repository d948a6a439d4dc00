-- What is counted over the whole queue is kept apart from the signs of life of the fleet, which an index tells at once: a count that takes
-- long, or fails, holds up no judgement. `count_at`: from when on somebody counts again.
ALTER TABLE carillon.fleet_sample
  ADD COLUMN counts     jsonb  NOT NULL DEFAULT '{}',
  ADD COLUMN counted_at bigint NOT NULL DEFAULT 0,
  ADD COLUMN count_at   bigint NOT NULL DEFAULT 0;

-- Whether any job has ever expected something: where none has, nobody looks for what is late. An index over the jobs would tell it as well, but
-- firing would stop while that builds. Never taken back: then the look is made in vain, no more. No version that was released stores such a job.
CREATE TABLE carillon.expectation (
  single boolean PRIMARY KEY DEFAULT true CHECK (single),
  known  boolean NOT NULL
);
INSERT INTO carillon.expectation (known) SELECT EXISTS (SELECT FROM carillon.jobs WHERE definition ? 'expect');

-- As its owner: whoever may store a job need not be let at this. The row is locked only by the first of all.
CREATE FUNCTION carillon.note_expectation() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE carillon.expectation SET known = true WHERE NOT known;
  RETURN NULL;
END
$$;
CREATE TRIGGER jobs_expecting AFTER INSERT OR UPDATE OF definition ON carillon.jobs
  FOR EACH ROW WHEN (NEW.definition ? 'expect') EXECUTE FUNCTION carillon.note_expectation();

-- Pages of alerts: those that go on are few among many that are over; and of one kind, or of one job, there may be few or many. Those of the
-- fleet have indexes of their own: by a condition IS NULL on its first column an index gives no order.
CREATE INDEX alerts_going_on ON carillon.alerts (tenant, alert DESC) WHERE resolved_at IS NULL;
CREATE INDEX alerts_of_kind ON carillon.alerts (tenant, kind, alert DESC);
CREATE INDEX alerts_of_job ON carillon.alerts (job, alert DESC) WHERE job IS NOT NULL;
CREATE INDEX alerts_of_fleet ON carillon.alerts (alert DESC) WHERE tenant IS NULL;
CREATE INDEX alerts_of_fleet_kind ON carillon.alerts (kind, alert DESC) WHERE tenant IS NULL;
