-- The last life signs of all workers over HTTP that nobody has declared dead. Plain read.
SELECT incarnation, beat, beat_at, carillon.now_ms() AS now
FROM carillon.incarnations
WHERE state = 'alive' AND tenant IS NOT NULL
