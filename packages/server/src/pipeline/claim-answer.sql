-- Takes an idempotency key for the transaction that this runs in, or tells the answer that is kept under it. `free` is false
-- where somebody else is at work under it: an advisory lock that is never waited for, and ends with the transaction.
-- A key that was kept between the snapshot and the lock is not seen: then keep-answers.sql fails on the primary key.
-- Index: idempotency_keys_pkey.
-- @param tenant int
-- @param key text
SELECT CASE WHEN a.key IS NULL THEN pg_try_advisory_xact_lock(hashtextextended(:key, :tenant)) END AS free,
       a.request, a.status, a.body, a.location
FROM (SELECT 1) AS one
LEFT JOIN carillon.idempotency_keys a ON a.tenant = :tenant AND a.key = :key
