-- Frees the partitions of a process whose connection is gone and which is silent, so that others need not wait until it is
-- declared dead. It lives on with its runs: should it come back, its renewal finds nothing, and it takes anew. Only if its
-- heartbeat is still the one the observer saw and its session lock can be had; shared, so that observers who find it silent at
-- the same moment are not in each other's way. The epoch stays: taking raises it.
-- Lock order: partitions by key. One who waits for another's disown finds the partitions free when it is answered.
-- @param incarnation bigint
-- @param beat bigint
WITH silent AS MATERIALIZED (
  SELECT incarnation FROM carillon.incarnations
  WHERE incarnation = :incarnation AND state = 'alive' AND beat = :beat AND pg_try_advisory_xact_lock_shared(incarnation)
),
theirs AS MATERIALIZED (
  SELECT p.partition
  FROM silent JOIN carillon.partitions p ON p.owner = silent.incarnation
  ORDER BY p.partition
  FOR NO KEY UPDATE OF p
)
UPDATE carillon.partitions p
SET owner = NULL, expires_at = 0
FROM theirs
WHERE p.partition = theirs.partition
RETURNING p.partition
