-- Frees the partitions of processes whose connection is gone and which are silent, so that others need not wait until they are
-- declared dead. They live on with their runs: should one come back, its renewal finds nothing, and it takes anew. Only where the
-- heartbeat is still the one the observer saw and the session lock can be had; shared, so that observers who find it silent at
-- the same moment are not in each other's way. All in one statement: who takes over waits for it. The epoch stays: taking raises it.
-- Lock order: partitions by key. One who waits for another's disown finds the partitions free when it is answered.
-- @param incarnations bigint[]
-- @param beats bigint[]
WITH seen AS MATERIALIZED (
  SELECT i.incarnation
  FROM carillon.incarnations i
  JOIN unnest(:incarnations, :beats) AS doubtful (incarnation, beat) USING (incarnation, beat)
  WHERE i.state = 'alive'
),
silent AS MATERIALIZED (
  SELECT incarnation FROM seen WHERE pg_try_advisory_xact_lock_shared(incarnation)
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
