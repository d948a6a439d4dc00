-- Target protection: lanes per host, and for each host that needs it a row with its limits and its breaker.

-- ── Lanes per host ───────────────────────────────────────────────────────────────────────────────────────────
-- A route of an http job names its host, as `new URL(url).host` does: lower case, without the default port. What is in the
-- queue keeps the lane that it was fired into.
CREATE FUNCTION carillon.host_of(definition jsonb) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE
    WHEN definition -> 'target' ->> 'type' = 'http'
    THEN regexp_replace(lower(called[2]), CASE lower(called[1]) WHEN 'http' THEN ':(80)?$' ELSE ':(443)?$' END, '')
  END
  FROM regexp_match(definition -> 'target' ->> 'url', '^(https?)://([^/?#\\]+)', 'i') AS called
$$;
INSERT INTO carillon.routes (tenant, kind, name, priority)
SELECT DISTINCT v.tenant, 'http', carillon.host_of(v.definition), coalesce((v.definition ->> 'priority')::smallint, 5)
FROM (SELECT tenant, definition FROM carillon.jobs
      UNION ALL
      SELECT tenant, definition FROM carillon.job_versions) v
WHERE carillon.host_of(v.definition) IS NOT NULL
ON CONFLICT DO NOTHING;
UPDATE carillon.jobs v SET route = r.route
FROM carillon.routes r
WHERE r.tenant = v.tenant AND r.kind = 'http' AND r.name = carillon.host_of(v.definition)
  AND r.priority = coalesce((v.definition ->> 'priority')::smallint, 5);
UPDATE carillon.job_versions v SET route = r.route
FROM carillon.routes r
WHERE r.tenant = v.tenant AND r.kind = 'http' AND r.name = carillon.host_of(v.definition)
  AND r.priority = coalesce((v.definition ->> 'priority')::smallint, 5);
DROP FUNCTION carillon.host_of(jsonb);
UPDATE carillon.dead_letters d SET route = v.route
FROM (SELECT job, version, route FROM carillon.jobs UNION ALL SELECT job, version, route FROM carillon.job_versions) v
WHERE v.job = d.job AND v.version = d.version AND v.route <> d.route;

-- How many jobs call a host.
CREATE INDEX jobs_by_route ON carillon.jobs (route) WHERE state IN ('active', 'paused');

-- ── Targets ──────────────────────────────────────────────────────────────────────────────────────────────────
-- One row per host that has limits, or failed of late. A healthy host without limits has none, and costs a lease nothing.
CREATE TABLE carillon.targets (
  tenant                   int NOT NULL REFERENCES carillon.tenants,
  host                     text NOT NULL CHECK (host <> ''),
  -- Set by people. NULL: no limit, or the default.
  rate_per_second          float8 CHECK (rate_per_second > 0),
  burst                    int CHECK (burst >= 1),
  max_concurrent           int CHECK (max_concurrent >= 1),
  timeout_seconds          int CHECK (timeout_seconds >= 1),
  drain_per_second         float8 CHECK (drain_per_second > 0),
  breaker_enabled          boolean,
  breaker_attempts         int CHECK (breaker_attempts >= 1),
  breaker_window_seconds   int CHECK (breaker_window_seconds >= 1),
  breaker_failure_ratio    float8 CHECK (breaker_failure_ratio > 0 AND breaker_failure_ratio <= 1),
  breaker_failures_in_row  int CHECK (breaker_failures_in_row >= 1),
  breaker_open_seconds     int CHECK (breaker_open_seconds >= 1),
  breaker_max_open_seconds int CHECK (breaker_max_open_seconds >= 1),
  -- The bucket, as it was at `tokens_at`.
  tokens                   float8 NOT NULL DEFAULT 0,
  tokens_at                bigint NOT NULL DEFAULT carillon.now_ms(),
  -- Runs that workers hold, counted only where max_concurrent is set: raised by a lease, lowered by whatever ends one.
  in_use                   int NOT NULL DEFAULT 0 CHECK (in_use >= 0),
  -- The breaker.
  state                    text NOT NULL DEFAULT 'closed' CHECK (state IN ('closed', 'open', 'half_open', 'draining')),
  since                    bigint NOT NULL DEFAULT carillon.now_ms(),
  retry_at                 bigint CHECK (retry_at IS NOT NULL OR state <> 'open'),
  openings                 int NOT NULL DEFAULT 0,
  window_at                bigint NOT NULL DEFAULT carillon.now_ms(),
  attempts                 int NOT NULL DEFAULT 0,
  failures                 int NOT NULL DEFAULT 0 CHECK (failures <= attempts),
  failures_in_row          int NOT NULL DEFAULT 0,
  last_error               text,
  last_failed_at           bigint,
  -- Since when workers report what comes of their calls. Only what was watched for a while is judged: the first to meet a
  -- failure knows nothing of the successes of others. NULL: nobody watches.
  watched_at               bigint,
  -- The run that is the probe: over as soon as nobody holds it with this token.
  probe_at                 bigint,
  probe_due                bigint,
  probe_job                bigint,
  probe_token              bigint,
  PRIMARY KEY (tenant, host)
) WITH (fillfactor = 50);

-- Whether a lease has to ask the row at all.
CREATE FUNCTION carillon.target_limits(t carillon.targets) RETURNS boolean
  LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT t.rate_per_second IS NOT NULL OR t.max_concurrent IS NOT NULL OR t.state <> 'closed'
$$;

-- Whether people set nothing for the host: then its row is there for its failures only.
CREATE FUNCTION carillon.target_limitless(t carillon.targets) RETURNS boolean
  LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT num_nonnulls(t.rate_per_second, t.burst, t.max_concurrent, t.timeout_seconds, t.drain_per_second,
                      t.breaker_enabled, t.breaker_attempts, t.breaker_window_seconds, t.breaker_failure_ratio,
                      t.breaker_failures_in_row, t.breaker_open_seconds, t.breaker_max_open_seconds) = 0
$$;

-- The bucket: how many runs a second may leave now, and how many are in it; NULL: there is none. While a backlog drains the
-- pace is the one that was set, or begins at ten and doubles every five seconds, so that a host with more traffic than
-- that is not held back for ever; and the bucket holds what leaves in a quarter of a second.
-- plpgsql, like the next: inlined, these would cost every lease more to plan than to run.
CREATE FUNCTION carillon.target_bucket(t carillon.targets, now bigint, OUT pace float8, OUT tokens float8)
  LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  most float8 := coalesce(t.burst, greatest(1, ceil(t.rate_per_second)));
BEGIN
  pace := t.rate_per_second;
  IF t.state = 'draining' THEN
    pace := least(pace, coalesce(t.drain_per_second, 10 * 2 ^ least(greatest(now - t.since, 0) / 5000.0, 20)::float8));
    most := least(t.burst, greatest(1, pace / 4));
  END IF;
  IF pace IS NOT NULL THEN
    tokens := least(most, t.tokens + greatest(now - t.tokens_at, 0) / 1000.0::float8 * pace);
  END IF;
END $$;

-- How many runs may be leased now; NULL: any number. An open breaker whose time has come lets one through, and no other as
-- long as somebody holds that one. A lease that this statement's snapshot does not show yet counts for five seconds.
CREATE FUNCTION carillon.target_room(t carillon.targets, now bigint) RETURNS int
  LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
DECLARE
  room int := least(t.max_concurrent - t.in_use, floor((carillon.target_bucket(t, now)).tokens + 1e-6)::int);
BEGIN
  IF t.state = 'open' AND now < t.retry_at THEN
    RETURN 0;
  END IF;
  IF t.state IN ('open', 'half_open') THEN
    room := least(room, 1);
    IF t.probe_at > now - 5000 OR EXISTS (
      SELECT FROM carillon.queue q
      WHERE q.due = t.probe_due AND q.job = t.probe_job AND q.token = t.probe_token)
    THEN
      RETURN 0;
    END IF;
  END IF;
  RETURN greatest(room, CASE WHEN room IS NOT NULL THEN 0 END);
END $$;

-- Why a run that is due may not start at its host now: a stable word; NULL: it may.
CREATE FUNCTION carillon.target_holds_back(t carillon.targets, now bigint) RETURNS text
  LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
BEGIN
  RETURN CASE
    WHEN t.state IN ('open', 'half_open') THEN 'breaker_open'
    WHEN NOT carillon.target_limits(t) OR coalesce(carillon.target_room(t, now), 1) > 0 THEN NULL
    WHEN t.in_use >= t.max_concurrent THEN 'target_concurrency'
    WHEN t.state = 'draining' THEN 'target_draining'
    ELSE 'target_rate'
  END;
END $$;

-- Waits for leases and closes in progress, and lets none begin before the transaction ends. Not long: all of them wait
-- behind whoever waits here.
CREATE FUNCTION carillon.hold_queue() RETURNS void LANGUAGE plpgsql SET lock_timeout = '100ms' AS $$
BEGIN
  LOCK TABLE carillon.queue IN SHARE MODE;
END $$;

-- ── Lanes ────────────────────────────────────────────────────────────────────────────────────────────────────
-- The lanes in which there is a run for a worker that serves these tasks, with the first instants: the look before a lease.
-- With few lanes (`many` at most) one probe each, from where the caller says that the lane has runs, else from `since`.
-- With many, only those that the caller names; all others by a loose scan, one step per lane that has an entry above
-- `since`, whatever its time. What lies below, the entries of runs that are gone, is passed over inside the index.
-- What waits for a place of a job in `freed` lies anywhere.
-- A function, because a poll that finds nothing should not be planned each time, and a plan that was made for an empty queue
-- must not scan a full one: with these settings there is none that does.
CREATE FUNCTION carillon.lanes_with_runs(
  tasks text[], commands boolean, ahead_ms bigint, many int, since bigint, routes int[], ready_froms bigint[],
  waiting_froms bigint[], freed bigint[], OUT route int, OUT ready bigint, OUT waiting bigint
) RETURNS SETOF record
  LANGUAGE plpgsql STABLE ROWS 20 SET enable_seqscan = off SET enable_bitmapscan = off AS $$
#variable_conflict use_column
DECLARE
  now bigint := carillon.now_ms();
  served int[] := ARRAY(
    SELECT r.route FROM carillon.routes r
    WHERE r.kind = 'http' OR (r.kind = 'task' AND r.name = ANY (tasks)) OR (r.kind = 'command' AND commands)
    LIMIT many + 1);
BEGIN
  IF cardinality(served) > many THEN
    served := routes;
    RETURN QUERY
    WITH RECURSIVE far AS (
      (SELECT q.route, q.available_at
       FROM carillon.queue q
       WHERE q.holder IS NULL AND (q.places IS NULL OR q.slot >= 0) AND q.route > 0 AND q.available_at >= since
       ORDER BY q.route, q.available_at
       LIMIT 1)
      UNION ALL
      SELECT next.route, next.available_at
      FROM far CROSS JOIN LATERAL (
        SELECT q.route, q.available_at
        FROM carillon.queue q
        WHERE q.holder IS NULL AND (q.places IS NULL OR q.slot >= 0) AND q.route > far.route AND q.available_at >= since
        ORDER BY q.route, q.available_at
        LIMIT 1
      ) next
    )
    SELECT far.route, far.available_at, NULL::bigint FROM far WHERE far.available_at <= now + ahead_ms;
    RETURN QUERY
    WITH RECURSIVE far AS (
      (SELECT q.route, q.available_at
       FROM carillon.queue q
       WHERE q.holder IS NULL AND q.places IS NOT NULL AND coalesce(q.slot, -1) < 0 AND q.route > 0
         AND q.available_at >= since
       ORDER BY q.route, q.available_at
       LIMIT 1)
      UNION ALL
      SELECT next.route, next.available_at
      FROM far CROSS JOIN LATERAL (
        SELECT q.route, q.available_at
        FROM carillon.queue q
        WHERE q.holder IS NULL AND q.places IS NOT NULL AND coalesce(q.slot, -1) < 0 AND q.route > far.route
          AND q.available_at >= since
        ORDER BY q.route, q.available_at
        LIMIT 1
      ) next
    )
    SELECT far.route, NULL::bigint, far.available_at FROM far WHERE far.available_at <= now;
  END IF;
  RETURN QUERY
  SELECT near.route,
         (SELECT q.available_at
          FROM carillon.queue q
          WHERE q.route = near.route AND q.holder IS NULL AND (q.places IS NULL OR q.slot >= 0)
            AND q.available_at >= near.ready_from AND q.available_at <= now + ahead_ms
          ORDER BY q.available_at
          LIMIT 1),
         (SELECT q.available_at
          FROM carillon.queue q
          WHERE q.route = near.route AND q.holder IS NULL AND q.places IS NOT NULL AND coalesce(q.slot, -1) < 0
            AND q.available_at >= near.waiting_from AND q.available_at <= now
          ORDER BY q.available_at
          LIMIT 1)
  FROM (
    SELECT lane.route, coalesce(known.ready_from, since) AS ready_from, coalesce(known.waiting_from, since) AS waiting_from
    FROM unnest(served) AS lane (route)
    LEFT JOIN unnest(routes, ready_froms, waiting_froms) AS known (route, ready_from, waiting_from)
      ON known.route = lane.route
    OFFSET 0
  ) near;
  IF cardinality(freed) > 0 THEN
    RETURN QUERY
    SELECT q.route, NULL::bigint, q.available_at
    FROM (SELECT * FROM carillon.queue w WHERE w.job = ANY (freed) OFFSET 0) q
    WHERE q.holder IS NULL AND q.places IS NOT NULL AND coalesce(q.slot, -1) < 0 AND q.available_at <= now;
  END IF;
END $$;
