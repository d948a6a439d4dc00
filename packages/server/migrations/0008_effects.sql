-- What handlers did once. A row is the result of one effect: `effect` names it, within the runs of a job that share an
-- idempotency key. Written under the lease of the run that did it, never changed, forgotten with the history.
CREATE TABLE carillon.effects (
  job              bigint NOT NULL,
  idempotency_key  text NOT NULL CHECK (length(idempotency_key) BETWEEN 1 AND 300),
  effect           text NOT NULL CHECK (length(effect) BETWEEN 1 AND 200),
  tenant           int NOT NULL,
  result           text CHECK (octet_length(result) <= 65536),  -- JSON as text: jsonb refuses \u0000. NULL: the effect has none
  token            bigint NOT NULL,                              -- of the attempt that did it
  created_at       bigint NOT NULL DEFAULT carillon.now_ms(),
  partition        smallint NOT NULL,
  PRIMARY KEY (job, idempotency_key, effect, partition)
);
CREATE INDEX effects_old ON carillon.effects (created_at);
