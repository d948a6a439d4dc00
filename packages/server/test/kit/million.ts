import type pg from 'pg'

/** A database with a million timers, made by the database itself in some seconds. Its statistics are fresh. */
export interface Million {
  readonly jobs: number
  readonly now: number
  /** A live process that owns a third of the partitions and holds some runs. */
  readonly incarnation: number
}

const jobs = 1_000_000

export async function makeMillion(session: pg.Client): Promise<Million> {
  await session.query('SET synchronous_commit = off')
  await session.query("SET maintenance_work_mem = '256MB'")
  // References are true by construction: checking each of some million would take longer than all the rest. A user who
  // may not say so waits for it.
  await session.query(
    `SELECT set_config('session_replication_role', 'replica', false) FROM pg_roles
     WHERE rolname = current_user AND rolsuper`,
  )
  const { rows } = await session.query<{ now: string }>('SELECT carillon.now_ms() AS now')
  const now = Number(rows[0]?.now)
  await insertProcesses(session, now)
  await withoutIndexes(session, 'carillon.jobs', () => insertJobs(session, now))
  await withoutIndexes(session, 'carillon.timers', () => insertTimers(session, now))
  await insertRuns(session, now)
  await insertHistory(session, now)
  await insertEffects(session, now)
  await session.query('ANALYZE')
  return { jobs, now, incarnation: 1 }
}

/** Building an index over all rows is several times as fast as adding to it row by row. */
async function withoutIndexes(
  session: pg.Client,
  table: string,
  fill: () => Promise<unknown>,
): Promise<void> {
  const { rows } = await session.query<{ name: string; definition: string }>(
    `SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition
     FROM pg_index i
     WHERE indrelid = $1::regclass AND NOT EXISTS (SELECT FROM pg_constraint c WHERE c.conindid = i.indexrelid)`,
    [table],
  )
  for (const { name } of rows) await session.query(['DROP INDEX', name].join(' '))
  await fill()
  for (const { definition } of rows) await session.query(definition)
}

/** Three of a thousand processes are alive, and own a third of the partitions each. */
async function insertProcesses(session: pg.Client, now: number): Promise<void> {
  await session.query(
    `INSERT INTO carillon.incarnations (incarnation, host, pid, roles, code_version, state, ended_at)
     SELECT n, 'host', n, '{scheduler,worker}', '1', CASE WHEN n <= 3 THEN 'alive' ELSE 'dead' END,
            CASE WHEN n > 3 THEN $1::bigint END
     FROM generate_series(1, 1000) n`,
    [now],
  )
  await session.query(
    'UPDATE carillon.partitions SET owner = 1 + partition % 3, epoch = 7, expires_at = $1::bigint + 10000',
    [now],
  )
  await session.query(
    "INSERT INTO carillon.tenants (tenant, name) SELECT n, 'tenant ' || n FROM generate_series(2, 100) n",
  )
  await session.query(
    `INSERT INTO carillon.routes (route, tenant, kind, name)
     SELECT n, 1 + n % 100, 'task', 'task ' || n FROM generate_series(1001, 1020) n`,
  )
}

/** Of a hundred tenants, changed over the last month; one in a thousand is paused, one in ten thousand names a calendar, and has a tag and an owner. */
function insertJobs(session: pg.Client, now: number): Promise<unknown> {
  return session.query(
    `INSERT INTO carillon.jobs (job, id, tenant, partition, name, state, definition, one_off, route, effective_from,
                                zone_data, created_at, updated_at, changed_at, paused_at, paused_until,
                                description, tags, managed_by)
     SELECT n, lpad(to_hex(n), 32, '0')::uuid, 1 + n % 100, n % 256, 'job ' || n,
            CASE WHEN n % 1000 = 0 THEN 'paused' ELSE 'active' END,
            CASE WHEN n % 10000 = 1 THEN '{"schedule": "0 9 * * *", "exclude": ["holidays"], "description": "a rarity",
                                           "tags": ["rare"], "managed_by": "owner"}'::jsonb
                 ELSE '{"schedule": "0 9 * * *", "exclude": []}' END,
            false, 1001 + n % 20, $1::bigint - 3000000000, '2026a', $1::bigint - 3000000000, $1::bigint - n * 2500,
            $1::bigint - n * 2500, CASE WHEN n % 1000 = 0 THEN $1::bigint END,
            CASE WHEN n % 2000 = 0 THEN $1::bigint + n END,
            -- As the trigger would: it does not fire for a replica.
            CASE WHEN n % 10000 = 1 THEN 'a rarity' END, CASE WHEN n % 10000 = 1 THEN '["rare"]'::jsonb END,
            CASE WHEN n % 10000 = 1 THEN 'owner' END
     FROM generate_series(1::bigint, $2) n`,
    [now, jobs],
  )
}

/** Due over the next day. */
function insertTimers(session: pg.Client, now: number): Promise<unknown> {
  return session.query(
    `INSERT INTO carillon.timers (job, tenant, due, start_at, accounted_through, partition)
     SELECT n, 1 + n % 100, due, due, $1::bigint - 1, n % 256
     FROM (SELECT n, CASE WHEN n % 1000 <> 0 THEN $1::bigint + n * 7919 % 86400000 END AS due
           FROM generate_series(1::bigint, $2) n) timer`,
    [now, jobs],
  )
}

/** Half of the runs are held; one in ten waits for a retry or a place. Some jobs are catching up. */
async function insertRuns(session: pg.Client, now: number): Promise<void> {
  await session.query(
    `INSERT INTO carillon.queue (due, job, tenant, route, version, epoch, slot, places, max_attempts, available_at,
                                 fired_at, holder, token, leased_at, cancel_requested, partition)
     SELECT $1::bigint - n % 5000, n, 1, 1001 + n % 20, 1, 7, CASE WHEN n % 10 > 0 THEN 0 END, 1, 3,
            $1::bigint + n % 5000 - 2500, $1::bigint - 5000, CASE WHEN held THEN 1 + n % 3 END,
            CASE WHEN held THEN n END, CASE WHEN held THEN $1::bigint END, held AND n % 1000 < 2, n % 256
     FROM (SELECT n, n % 4 < 2 AS held FROM generate_series(1::bigint, 100000) n) run`,
    [now],
  )
  await session.query(
    `INSERT INTO carillon.replays (tenant, job, kind, from_ms, to_ms, cursor_ms, total, version, reason, state,
                                   partition)
     SELECT 1, n, 'catch_up', $1::bigint - n, $1, $1::bigint - n, 5, 1, 'missed',
            CASE WHEN n % 25 = 0 THEN 'running' ELSE 'done' END, n % 256
     FROM generate_series(1::bigint, 50000) n`,
    [now],
  )
  await session.query(
    `INSERT INTO carillon.replays (tenant, job, kind, from_ms, to_ms, cursor_ms, total, version, reason, state, partition,
                                   per_minute, ticks, next_at, only_missing)
     SELECT 1 + n % 100, n, 'backfill', $1::bigint - n, $1, $1::bigint - n, 3, 1, '',
            CASE WHEN n % 25 = 0 THEN 'running' ELSE 'done' END, n % 256,
            60, ARRAY[$1::bigint - n, $1::bigint - n + 1, $1], $1, true
     FROM generate_series(50001::bigint, 60000) n`,
    [now],
  )
  await session.query(
    `INSERT INTO carillon.tick_changes (job, due, tenant, action, partition)
     SELECT n, $1::bigint + n, 1 + n % 100, 'skip', n % 256 FROM generate_series(1::bigint, 50000) n`,
    [now],
  )
}

async function insertHistory(session: pg.Client, now: number): Promise<void> {
  await session.query(
    `SELECT carillon.make_ledger_day((to_timestamp($1::bigint / 1000) AT TIME ZONE 'UTC')::date + n)
     FROM generate_series(-1, 1) n`,
    [now],
  )
  await session.query(
    `INSERT INTO carillon.ledger (recorded_at, tenant, job, due, origin, seq, outcome, final, round, attempt, version,
                                  epoch, token, partition)
     SELECT $1::bigint - n * 250, 1, 1 + n % 50000, $1::bigint - n * 250, 0, 0, 'success', true, 0, 1, 1, 7, n,
            n % 256
     FROM generate_series(1::bigint, 200000) n`,
    [now],
  )
  await session.query(
    `INSERT INTO carillon.dead_letters (due, job, origin, seq, tenant, route, version, epoch, attempts, max_attempts,
                                        round, catch_up, reason, error, dead_at, partition)
     SELECT $1::bigint - n, n, 0, 0, 1, 1001, 1, 7, 3, 3, 0, false, 'http_status', 'answered ' || 400 + n % 200,
            $1::bigint - n * 10, n % 256
     FROM generate_series(1::bigint, 50000) n`,
    [now],
  )
  await session.query(
    `INSERT INTO carillon.job_versions (job, version, tenant, definition, route, created_at, partition)
     SELECT n, 1, 1, '{"schedule": "0 9 * * *", "exclude": []}', 1001, $1, n % 256
     FROM generate_series(1::bigint, 50000) n`,
    [now],
  )
  await session.query(
    `INSERT INTO carillon.segments (job, from_ms, tenant, version, zone_data, reason, partition)
     SELECT n, $1::bigint - n, 1, 1, '2026a', 'edited', n % 256 FROM generate_series(1::bigint, 50000) n`,
    [now],
  )
}

async function insertEffects(session: pg.Client, now: number): Promise<void> {
  await session.query(
    `INSERT INTO carillon.effects (job, idempotency_key, effect, tenant, result, token, created_at, partition)
     SELECT n, 'key', 'effect', 1, '{}', n, $1::bigint - n, n % 256 FROM generate_series(1, 50000) n`,
    [now],
  )
}
