import type { JobDefinition } from '@carillon/contract'
import { afterAll, beforeAll, beforeEach } from 'vitest'
import { Account } from '../../src/pipeline/account/account.js'
import { jobIdOf, newUuid } from '../../src/platform/ids.js'
import { partitionOf } from '../../src/platform/partition.js'
import { TestClock, testEpoch } from './test-clock.js'
import { createTestDatabase, type TestDatabase } from './test-database.js'
import { utcText } from '../../src/time/iso-text.js'

export const zoneData = process.versions.tz ?? 'unknown'
export const lateToleranceMs = 15_000

export interface HandMadeJob {
  key: number
  job_id: string
  partition: number
}

export interface JobOptions extends Partial<JobDefinition> {
  state?: 'active' | 'paused' | 'ended' | 'deleted' | 'collected'
  version?: number
  effectiveFrom?: number
  zoneData?: string
  endedAt?: number
  /** The cursor: what is accounted for, and the tick after that. Null: no timer at all. */
  accountedThrough?: number | null
  due?: number | null
  startAt?: number
  runs?: number
}

/** Rows as the stages would write them, or as they never would: put there by hand. */
export class HandMade {
  readonly account: Account
  private names = 0

  constructor(
    readonly database: TestDatabase,
    readonly clock: TestClock,
  ) {
    this.account = new Account({ database: database.database, clock, lateToleranceMs })
  }

  async job(options: JobOptions = {}): Promise<HandMadeJob> {
    const {
      state = 'active',
      version = 1,
      effectiveFrom = testEpoch,
      zoneData: zone = zoneData,
      endedAt,
      accountedThrough = testEpoch,
      due,
      startAt,
      runs = 0,
      ...given
    } = options
    const uuid = newUuid()
    const partition = partitionOf(uuid)
    const definition = { ...defaults, name: `job-${++this.names}`, ...given }
    const ended = ['ended', 'deleted', 'collected'].includes(state)
    const [row] = await this.database.query<{ job: number }>(
      `INSERT INTO carillon.jobs (id, tenant, partition, name, state, version, definition, one_off, route, effective_from,
                                  zone_data, created_at, ended_at, paused_at)
       VALUES ($1, 1, $2, $3, $4, $5, $6, false, $7, $8, $9, $10, $11, $12) RETURNING job`,
      [
        uuid,
        partition,
        definition.name,
        state,
        version,
        state === 'collected' ? null : JSON.stringify(definition),
        await this.route(),
        effectiveFrom,
        zone,
        Math.min(effectiveFrom, testEpoch),
        ended ? (endedAt ?? this.clock.wall()) : null,
        state === 'paused' ? testEpoch : null,
      ],
    )
    const key = row?.job ?? 0
    if (accountedThrough !== null && state !== 'collected') {
      const next = due === undefined ? null : due
      await this.database.query(
        `INSERT INTO carillon.timers (job, tenant, due, start_at, accounted_through, runs, partition)
         VALUES ($1, 1, $2, $3, $4, $5, $6)`,
        [key, next, next === null ? null : (startAt ?? next), accountedThrough, runs, partition],
      )
    }
    return { key, job_id: jobIdOf(uuid), partition }
  }

  /** A superseded stretch, and the definition of its version where that is not the present one. */
  async segment(
    job: HandMadeJob,
    fields: {
      from: number
      version: number
      definition?: Partial<JobDefinition>
      calendars?: object
      zone?: string
    },
  ): Promise<void> {
    await this.database.query(
      `INSERT INTO carillon.segments (job, from_ms, tenant, version, calendars, zone_data, reason, partition)
       VALUES ($1, $2, 1, $3, $4, $5, 'edited', $6)`,
      [
        job.key,
        fields.from,
        fields.version,
        fields.calendars === undefined ? null : JSON.stringify(fields.calendars),
        fields.zone ?? zoneData,
        job.partition,
      ],
    )
    if (fields.definition === undefined) return
    await this.database.query(
      `INSERT INTO carillon.job_versions (job, version, tenant, definition, route, created_at, partition)
       VALUES ($1, $2, 1, $3, $4, 0, $5)`,
      [
        job.key,
        fields.version,
        JSON.stringify({ ...defaults, ...fields.definition }),
        await this.route(),
        job.partition,
      ],
    )
  }

  /** A row of the ledger: by default the end of a run that went well and started at its time. */
  async ledger(job: HandMadeJob, due: number, fields: Record<string, unknown> = {}): Promise<void> {
    const row: Record<string, unknown> = {
      recorded_at: Math.max(due, Number(fields['due_to'] ?? due)) + 50,
      tenant: 1,
      job: job.key,
      due,
      origin: 0,
      seq: 0,
      outcome: 'success',
      final: true,
      round: 0,
      attempt: 1,
      max_attempts: 4,
      version: 1,
      epoch: 1,
      available_at: due,
      fired_at: due,
      leased_at: due,
      started_at: due,
      finished_at: due + 40,
      partition: job.partition,
      ...fields,
    }
    await this.insert('ledger', row)
  }

  async skipped(
    job: HandMadeJob,
    due: number,
    reason: string,
    fields: { due_to?: number; ticks?: number } = {},
  ): Promise<void> {
    const none = { available_at: null, fired_at: null, leased_at: null, started_at: null, finished_at: null }
    await this.ledger(job, due, {
      outcome: 'skipped',
      attempt: 0,
      max_attempts: null,
      reason,
      ...none,
      ...fields,
    })
  }

  async queued(job: HandMadeJob, due: number, fields: Record<string, unknown> = {}): Promise<void> {
    await this.insert('queue', {
      due,
      job: job.key,
      tenant: 1,
      route: await this.route(),
      version: 1,
      epoch: 1,
      max_attempts: 4,
      available_at: due,
      fired_at: due,
      partition: job.partition,
      ...fields,
    })
  }

  async letter(job: HandMadeJob, due: number, fields: Record<string, unknown> = {}): Promise<void> {
    await this.insert('dead_letters', {
      due,
      job: job.key,
      origin: 0,
      seq: 0,
      tenant: 1,
      route: await this.route(),
      version: 1,
      epoch: 1,
      attempts: 4,
      max_attempts: 4,
      round: 0,
      catch_up: false,
      reason: 'failed',
      dead_at: due + 50,
      partition: job.partition,
      ...fields,
    })
  }

  async replay(
    job: HandMadeJob,
    fields: { from_ms: number; to_ms: number; cursor_ms: number } & Record<string, unknown>,
  ): Promise<void> {
    await this.insert('replays', {
      tenant: 1,
      job: job.key,
      kind: 'catch_up',
      total: 1,
      version: 1,
      reason: 'missed',
      partition: job.partition,
      ...fields,
    })
  }

  /** A range of minutes after the epoch, verified; for one job or for all. */
  verify(fromMinute: number, toMinute: number, job?: HandMadeJob) {
    return this.account.verify(null, {
      from: utcText(minute(fromMinute)),
      to: utcText(minute(toMinute)),
      jobId: job?.job_id,
      budgetMs: null,
    })
  }

  async insert(table: string, row: Record<string, unknown>): Promise<void> {
    await this.database.query('SELECT carillon_test.put($1, $2)', [table, JSON.stringify(row)])
  }

  private async route(): Promise<number> {
    const [row] = await this.database.query<{ route: number }>(
      `INSERT INTO carillon.routes (tenant, kind, name) VALUES (1, 'task', 'task')
       ON CONFLICT (tenant, kind, name, priority) DO UPDATE SET name = EXCLUDED.name RETURNING route`,
    )
    return row?.route ?? 0
  }
}

/** So many minutes after the beginning of the test's time. */
export function minute(minutes: number): number {
  return testEpoch + Math.round(minutes * 60_000)
}

const defaults: JobDefinition = {
  name: 'job',
  schedule: '@every 1m',
  timezone: 'UTC',
  dst_gap: 'run_after',
  dst_overlap: 'first',
  exclude: [],
  on_excluded: 'exclude',
  starts_at: null,
  ends_at: null,
  max_runs: null,
  jitter_seconds: 0,
  fire_window_seconds: 0,
  anchor: testEpoch,
  target: { type: 'task', task: 'task' },
  payload: null,
  idempotency_key_template: '{{job_id}}:{{scheduled_at_unix}}',
  max_retries: 3,
  retry_backoff: 'exponential',
  missed_window: 'RUN_ONCE',
  max_missed: 10,
  misfire_grace_seconds: null,
  overlap_policy: 'SKIP',
  max_concurrent: null,
  priority: 5,
  timeout_seconds: 300,
}

const tables = [
  'tick_changes',
  'queue',
  'dead_letters',
  'ledger',
  'replays',
  'timers',
  'segments',
  'job_versions',
  'jobs',
]
const cold = ['incarnations', 'calendars', 'brake', 'alerts']

/** A database for rows made by hand; emptied before each test. The clock goes on from test to test. */
export function useHandMade(): () => HandMade {
  let hand: HandMade | undefined
  beforeAll(async () => {
    const database = await createTestDatabase()
    const clock = await TestClock.install(database)
    await database.query(`CREATE FUNCTION carillon_test.put(name text, fields jsonb) RETURNS void LANGUAGE plpgsql AS $$
      DECLARE names text;
      BEGIN
        SELECT string_agg(quote_ident(key), ', ') INTO names FROM jsonb_object_keys(fields) key;
        EXECUTE format('INSERT INTO carillon.%I (%s) SELECT %s FROM jsonb_populate_record(NULL::carillon.%I, $1)',
                       name, names, names, name) USING fields;
      END $$`)
    await database.query(`CREATE FUNCTION carillon_test.wipe(name text) RETURNS void LANGUAGE plpgsql
      AS $$ BEGIN EXECUTE format('DELETE FROM carillon.%I', name); END $$`)
    hand = new HandMade(database, clock)
  })
  beforeEach(async () => {
    for (const table of [...tables, ...cold])
      await hand?.database.query('SELECT carillon_test.wipe($1)', [table])
    const past = testEpoch - ((await hand?.clock.databaseNow()) ?? testEpoch)
    await hand?.clock.stepDatabase(past)
  })
  afterAll(async () => hand?.database.close())
  return () => {
    if (hand === undefined) throw new Error('The database is open only inside tests.')
    return hand
  }
}
