-- The jobs of a tenant that start next, by start, partition and key. No index leads a tenant by time, because it would cost
-- every fire more than half again as much; so the heads of all partitions are read, `per_partition` starts of each, and are
-- known to be complete up to the earliest end of one that was cut off. Up to there the timers are taken in order, until
-- `most` jobs were found that the filter takes. Starts that many timers share count once as a head: a partition's share of
-- a crowded midnight is read only when it is its turn. `reached_start` says how far the look went; null: to the end.
-- Plain read. Index: timers_start (partition, start_at), jobs' primary key.
-- @plan each-time
-- @param tenant int
-- @param pattern text
-- @param id_from uuid
-- @param id_to uuid
-- @param tags text[]
-- @param managed_by text
-- @param kind text
-- @param routes int[]
-- @param after_start bigint
-- @param after_partition smallint
-- @param after_job bigint
-- @param per_partition int
-- @param most int
WITH parts AS MATERIALIZED (
  SELECT p::smallint AS partition,
         :after_start + CASE WHEN p < :after_partition THEN 1 ELSE 0 END AS since
  FROM generate_series(0, 255) p
),
heads AS MATERIALIZED (
  SELECT parts.partition, head.start_at, head.place
  FROM parts
  CROSS JOIN LATERAL (
    SELECT t.start_at, row_number() OVER (ORDER BY t.start_at) AS place
    FROM carillon.timers t
    WHERE t.partition = parts.partition AND t.start_at >= parts.since
    ORDER BY t.start_at
    LIMIT :per_partition
  ) head
),
bound AS MATERIALIZED (
  SELECT min(start_at) AS start_at FROM heads WHERE place = :per_partition
)
SELECT found.job, found.start_at, found.partition, (SELECT start_at FROM bound) AS reached_start
FROM (SELECT) one
LEFT JOIN LATERAL (
  SELECT j.job, crowd.start_at, crowd.partition
  FROM (
    SELECT DISTINCT heads.start_at, heads.partition
    FROM heads
    WHERE heads.start_at <= coalesce((SELECT start_at FROM bound), heads.start_at)
    ORDER BY heads.start_at, heads.partition
  ) crowd
  CROSS JOIN LATERAL (
    SELECT t.job
    FROM carillon.timers t
    WHERE t.partition = crowd.partition AND t.start_at = crowd.start_at AND t.tenant = :tenant
      AND (crowd.start_at > :after_start OR crowd.partition > :after_partition OR t.job > :after_job)
    ORDER BY t.job
  ) timer
  CROSS JOIN LATERAL (
    SELECT j.job
    FROM carillon.jobs j
    WHERE j.job = timer.job AND j.tenant = :tenant AND j.state = 'active'
      AND (:pattern IS NULL OR j.name ILIKE :pattern OR j.description ILIKE :pattern
           OR j.id BETWEEN :id_from AND :id_to)
      AND (:tags IS NULL OR j.tags ?& :tags)
      AND (:managed_by IS NULL OR j.managed_by = :managed_by)
      AND (:routes IS NULL OR j.route = ANY (:routes))
      AND (:kind IS NULL OR (SELECT r.kind FROM carillon.routes r WHERE r.route = j.route) = :kind)
    OFFSET 0
  ) j
  ORDER BY crowd.start_at, crowd.partition, j.job
  LIMIT :most
) found ON true
