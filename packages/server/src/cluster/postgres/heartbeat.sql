-- One life sign per process, not per run. Answers whether the process still counts as alive: one that was declared
-- dead touches no row and must stop at once. Locks its own row (no key column: a lease in progress does not wait).
-- Tells the roles it can do now, which may be fewer than it was started with, and what it says of itself.
-- @param incarnation bigint
-- @param session_lock boolean
-- @param roles text[]
-- @param report jsonb
WITH beaten AS (
  UPDATE carillon.incarnations
  SET beat = beat + 1, beat_at = carillon.now_ms(), session_lock = :session_lock, roles = :roles,
      report = :report
  WHERE incarnation = :incarnation AND state = 'alive'
  RETURNING 1
)
SELECT carillon.now_ms() AS now, EXISTS (SELECT FROM beaten) AS alive
