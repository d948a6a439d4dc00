-- Jobs in the order of their keys, with all that says which ticks they have: their present definition and cursor, and
-- the superseded stretches of their lives. Read in the snapshot in which their records are read. A job that ended a day
-- before the range has no tick in it: a day, because staging ends a job shortly before its last tick.
-- Index: jobs' primary key, timers' primary key, segments' and job_versions' primary keys.
-- @whole definition
-- @param tenant int
-- @param after bigint
-- @param last bigint
-- @param ended_from bigint
-- @param most int
WITH page AS MATERIALIZED (
  SELECT *
  FROM carillon.jobs j
  WHERE j.job > :after AND j.job <= :last AND (:tenant IS NULL OR j.tenant = :tenant)
    AND (j.ended_at IS NULL OR j.ended_at >= :ended_from)
  ORDER BY j.job
  LIMIT :most
)
SELECT page.job, page.partition, page.id::text AS uuid, page.tenant, page.name, page.state, page.version, page.effective_from,
       page.zone_data, page.created_at, page.ended_at, page.cancelled_at, page.paused_at, page.pause_reason, page.paused_until,
       page.ticks_changed_until, page.definition - 'payload' - 'target' AS definition,
       t.due, t.start_at, t.accounted_through, t.runs,
       (SELECT jsonb_agg(jsonb_build_object('from', s.from_ms, 'version', s.version, 'calendars', s.calendars,
                                            'zone_data', s.zone_data, 'reason', s.reason,
                                            'definition', v.definition - 'payload' - 'target') ORDER BY s.from_ms)
        FROM carillon.segments s
        LEFT JOIN carillon.job_versions v ON v.job = s.job AND v.version = s.version AND v.partition = s.partition
        WHERE s.job = page.job) AS segments,
       carillon.now_ms() AS now
FROM page
LEFT JOIN carillon.timers t ON t.job = page.job AND t.partition = page.partition
ORDER BY page.job
