-- Declares workers over HTTP dead, for ever, whose silence outlasted the run lease by the observer's clock and, what is
-- asked here, by the database's. Only if the last sign is still the one that the observer saw: a sign that came meanwhile wins.
-- FOR UPDATE conflicts with the key-share lock of a lease in progress, as in declare-dead.sql; by key.
-- @param incarnations bigint[]
-- @param beats bigint[]
-- @param expired_befores bigint[]
WITH dying AS MATERIALIZED (
  SELECT i.incarnation
  FROM carillon.incarnations i
  JOIN unnest(:incarnations, :beats, :expired_befores) AS silent (incarnation, beat, expired_before)
    ON silent.incarnation = i.incarnation AND silent.beat = i.beat AND i.beat_at < silent.expired_before
  WHERE i.state = 'alive' AND i.tenant IS NOT NULL
  ORDER BY i.incarnation
  FOR UPDATE OF i
)
UPDATE carillon.incarnations i
SET state = 'dead', ended_at = carillon.now_ms()
FROM dying
WHERE i.incarnation = dying.incarnation
RETURNING i.incarnation, i.host AS name
