-- A life sign of a worker over HTTP: every call it makes is one. Answers how it stands; nothing for an id that its tenant
-- does not have. One that has ended stays as it is. `tasks` NULL: it serves what it served before.
-- Locks its own row (no key column: a lease in progress does not wait). Index: primary key.
-- @param tenant int
-- @param incarnation bigint
-- @param tasks text[]
WITH beaten AS (
  UPDATE carillon.incarnations
  SET beat = beat + 1, beat_at = carillon.now_ms(), tasks = coalesce(:tasks, tasks)
  WHERE incarnation = :incarnation AND tenant = :tenant AND state = 'alive'
  RETURNING 1
)
SELECT EXISTS (SELECT FROM beaten) AS alive, carillon.now_ms() AS now
FROM carillon.incarnations
WHERE incarnation = :incarnation AND tenant = :tenant
