-- What is remembered of an effect, and whether the run that asks is still this worker's. Plain read; primary keys.
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
SELECT EXISTS (
         SELECT FROM carillon.queue q
         WHERE q.due = :due AND q.job = :job AND q.origin = :origin AND q.seq = :seq AND q.partition = :partition
           AND q.token = :token AND q.holder = :holder
       ) AS held,
       e.job IS NOT NULL AS known, e.result
FROM (SELECT) asked
LEFT JOIN carillon.effects e
  ON e.job = :job AND e.idempotency_key = :idempotency_key AND e.effect = :effect AND e.partition = :partition
