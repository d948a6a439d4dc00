-- Runs of mine that somebody asked to cancel; a row without one where there are none. No row: I was declared dead, and what I held may be
-- anybody's: that nobody asked me to cancel it says nothing. `replaced`: a newer run of a REPLACE job waits for this one's place, so that
-- it is to stop also when it is under way. Only a replacement puts a run of such a version into the waiting place.
-- `stop_requested`: a person cancelled this very run, so that it is to stop as well. The others go on: their job was deleted
-- or paused. Plain read; incarnations by primary key; index queue_cancel, which holds only such rows; queue_slot and primary keys for each of them.
-- @plan each-time
-- @param holder bigint
SELECT q.due, q.job, q.origin, q.seq, q.partition, q.token, q.stop_requested,
       coalesce((
         SELECT coalesce(old.definition, j.definition) ->> 'overlap_policy' = 'REPLACE'
         FROM carillon.queue waiting
         JOIN carillon.jobs j ON j.job = waiting.job
         LEFT JOIN carillon.job_versions old
           ON old.job = waiting.job AND old.version = waiting.version AND old.version <> j.version
         WHERE waiting.job = q.job AND waiting.slot = -1
       ), false) AS replaced
FROM carillon.incarnations me
LEFT JOIN carillon.queue q ON q.holder = me.incarnation AND q.cancel_requested
WHERE me.incarnation = :holder AND me.state = 'alive'
