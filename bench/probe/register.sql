-- Many waiting calls in one statement. $1 ids, $2 names, $3 definitions, $4 partitions, $5 dues.
WITH input AS MATERIALIZED (
  SELECT * FROM unnest($1::bigint[], $2::text[], $3::jsonb[], $4::smallint[], $5::bigint[])
    AS i (job, name, definition, partition, due)
), made AS (
  INSERT INTO jobs (job, name, definition) SELECT job, name, definition FROM input
)
INSERT INTO timers (job, partition, due) SELECT job, partition, due FROM input
