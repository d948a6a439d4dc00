-- Per answer that is kept under a key a foreign key is a trigger, a query and a row lock (see 0020). Tenants are never deleted, and
-- an answer is kept in the statement or transaction of an effect that found its tenant.
-- In the order in which a creation takes them: dropping the reference locks both.
LOCK TABLE carillon.tenants, carillon.idempotency_keys IN ACCESS EXCLUSIVE MODE;
ALTER TABLE carillon.idempotency_keys DROP CONSTRAINT idempotency_keys_tenant_fkey;
