-- The fleet in numbers, as one process counted them a moment ago: every process shows them, and none counts for itself.
CREATE TABLE carillon.fleet_sample (
  single    boolean PRIMARY KEY DEFAULT true CHECK (single),
  taken_at  bigint NOT NULL,
  took_ms   bigint NOT NULL,
  sample    jsonb NOT NULL
);
INSERT INTO carillon.fleet_sample (taken_at, took_ms, sample) VALUES (0, 0, '{}');
