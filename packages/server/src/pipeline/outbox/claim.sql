-- Takes requests that nobody is at, for a while: who dies with one loses it to the next look. No watermark: a row that a
-- long transaction commits late is found like any other. `made`: an earlier try got as far as the job.
-- Lock: the rows, SKIP LOCKED. Index: outbox_waiting holds what is to be done only; jobs_id_key and jobs_pkey for each.
-- @param claim_ms bigint
-- @param most int
WITH next AS MATERIALIZED (
  SELECT entry
  FROM carillon.outbox
  WHERE done_at IS NULL AND refused_at IS NULL AND claimed_until <= carillon.now_ms()
  ORDER BY entry
  LIMIT :most
  FOR UPDATE SKIP LOCKED
)
UPDATE carillon.outbox o
SET claimed_until = carillon.now_ms() + :claim_ms
FROM next
WHERE o.entry = next.entry
RETURNING o.entry, o.tenant, o.id AS uuid, o.definition, o.due,
  (SELECT j.id FROM carillon.jobs j WHERE j.job = o.job) AS triggers,
  EXISTS (SELECT FROM carillon.jobs j WHERE j.id = o.id) AS made
