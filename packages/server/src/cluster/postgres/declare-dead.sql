-- Declares a process dead, for ever. Only if its heartbeat is still the one the observer saw: a life sign that came
-- meanwhile wins. `expired_before` is set when the verdict rests on time alone, and then the database clock must agree;
-- NULL when it rests on the session lock, and then the lock is tried once more, without waiting for it
-- (shared: another observer who tries it too is no sign of life).
-- FOR UPDATE conflicts with the key-share lock of a lease in progress: after this commits, no lease by the dead
-- process can follow.
-- @param incarnation bigint
-- @param beat bigint
-- @param expired_before bigint
WITH dying AS MATERIALIZED (
  SELECT incarnation FROM carillon.incarnations
  WHERE incarnation = :incarnation AND state = 'alive' AND beat = :beat
    AND CASE WHEN :expired_before IS NULL THEN pg_try_advisory_xact_lock_shared(incarnation)
             ELSE beat_at < :expired_before END
  FOR UPDATE
)
UPDATE carillon.incarnations i
SET state = 'dead', ended_at = carillon.now_ms()
FROM dying
WHERE i.incarnation = dying.incarnation
RETURNING i.incarnation
