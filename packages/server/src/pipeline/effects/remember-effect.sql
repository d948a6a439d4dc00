-- Remembers an effect, fenced: only while the run is leased to this worker with this token. FOR KEY SHARE waits for whoever
-- gives the run away (rescue, hand-back, close, lease: all take the row FOR UPDATE) and reads the row again after the wait, so that
-- a successor's recall, which comes after its lease, sees everything that its predecessor could store.
-- What is remembered is never changed: of two runs that share a key and did the effect at once, the first to say so
-- counts, and the other is told its result. The same record sent again, after a lost answer, finds itself.
-- Not in the answer: the lease is gone. Locks: the queue row, then the effect. Index: primary keys.
-- @plan each-time
-- @param holder bigint
-- @param due bigint
-- @param job bigint
-- @param origin smallint
-- @param seq int
-- @param partition smallint
-- @param token bigint
-- @param idempotency_key text
-- @param effect text
-- @param result text
WITH held AS MATERIALIZED (
  SELECT q.tenant
  FROM carillon.queue q
  WHERE q.due = :due AND q.job = :job AND q.origin = :origin AND q.seq = :seq AND q.partition = :partition
    AND q.token = :token AND q.holder = :holder
  FOR KEY SHARE OF q
)
INSERT INTO carillon.effects AS known (job, idempotency_key, effect, tenant, result, token, created_at, partition)
SELECT :job, :idempotency_key, :effect, held.tenant, :result, :token, carillon.now_ms(), :partition
FROM held
ON CONFLICT (job, idempotency_key, effect, partition) DO UPDATE SET result = known.result
RETURNING result
