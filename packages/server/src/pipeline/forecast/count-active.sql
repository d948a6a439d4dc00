-- How many active jobs a tenant has, as far as it matters, and the time. Index: jobs_by_tenant.
-- @param tenant int
-- @param kind text
-- @param target text
-- @param tags text[]
-- @param most int
SELECT carillon.now_ms() AS now, (
  SELECT count(*)::int
  FROM (SELECT FROM carillon.jobs j
        WHERE j.tenant = :tenant AND j.state = 'active'
          AND (:tags IS NULL OR j.tags ?& :tags)
          AND (:kind IS NULL OR j.route IN (SELECT r.route FROM carillon.routes r
                                            WHERE r.tenant = :tenant AND r.kind = :kind
                                              AND (:target IS NULL OR r.name = :target)))
        LIMIT :most) few
) AS jobs
