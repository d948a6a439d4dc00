-- Runs are found by their key and by nothing else that looks as good to the planner.

-- The rows of one job lie together, so that the primary key serves both who asks for one run and who asks for a job's. Of a
-- key that begins with `due` the planner knows no more than of the index over the jobs' places, and took that one: it reads
-- every row that the job had for as long as an old transaction is open.
ALTER TABLE carillon.queue DROP CONSTRAINT queue_pkey;
ALTER TABLE carillon.queue ADD PRIMARY KEY (job, due, origin, seq, partition);

-- Only who holds a place can be in the way of another. Runs of jobs without limit cost this index nothing.
DROP INDEX carillon.queue_slot;
CREATE UNIQUE INDEX queue_slot ON carillon.queue (job, slot) WHERE slot IS NOT NULL;
