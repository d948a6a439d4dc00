-- A timer is found by its start, not by its key: behind the key lies a dead version for each tick since the oldest open
-- transaction began, behind a start only those of that instant. `job` makes the entry one timer's own, however many start at
-- one instant; reading in order of (start_at, job) needs no sort any more.
DROP INDEX carillon.timers_start;
CREATE INDEX timers_start ON carillon.timers (partition, start_at, job) WHERE start_at IS NOT NULL;
