-- Gives leased runs back before they were started: the attempt is not used up, the overlap place is kept.
-- Fenced by holder and token. Lock: the rows, ordered by key.
-- @param holder bigint
-- @param dues bigint[]
-- @param jobs bigint[]
-- @param origins smallint[]
-- @param seqs int[]
-- @param partitions smallint[]
-- @param tokens bigint[]
WITH mine AS MATERIALIZED (
  SELECT q.due, q.job, q.origin, q.seq, q.partition
  FROM carillon.queue q
  JOIN unnest(:dues, :jobs, :origins, :seqs, :partitions, :tokens) AS r (due, job, origin, seq, partition, token)
    USING (due, job, origin, seq, partition, token)
  WHERE q.holder = :holder
  ORDER BY q.due, q.job, q.origin, q.seq
  FOR UPDATE OF q
)
UPDATE carillon.queue q
SET holder = NULL, token = NULL, leased_at = NULL
FROM mine
WHERE q.due = mine.due AND q.job = mine.job AND q.origin = mine.origin AND q.seq = mine.seq
  AND q.partition = mine.partition
RETURNING q.job
