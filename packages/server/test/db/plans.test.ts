import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseStatement } from '../../src/db/statement.js'
import { type Million, makeMillion } from '../kit/million.js'
import { customPlan, genericPlan, type PlanNode, paramTypes, plausible } from '../kit/plans.js'
import { createTestDatabase, type TestDatabase } from '../kit/test-database.js'

/** Every statement of the pipeline and the cluster is planned over a million timers: none may read a large table whole. */
const source = fileURLToPath(new URL('../../src/', import.meta.url))
const files = ['pipeline', 'cluster'].flatMap((room) =>
  readdirSync(join(source, room), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.sql'))
    .map((file) => relative(source, join(source, room, file)).replaceAll('\\', '/')),
)
const large = 20_000
/** The rooms whose statements answer requests. */
const ofRequests = ['register', 'intervene', 'account', 'record', 'protect', 'sign', 'access', 'alert']

/** In those rooms, what the fleet does by itself or for its own people: never over connections of requests. */
const ofTheFleet = [
  'pipeline/alert/claim-notifications.sql',
  'pipeline/alert/claim-tail.sql',
  'pipeline/alert/claim-watch.sql',
  'pipeline/alert/fleet-state.sql',
  'pipeline/alert/forget.sql',
  'pipeline/alert/keep-tail.sql',
  'pipeline/alert/keep-watch.sql',
  'pipeline/alert/learned.sql',
  'pipeline/alert/long-runs.sql',
  'pipeline/alert/mark-delivered.sql',
  'pipeline/alert/mark-failed.sql',
  'pipeline/alert/open-of-kinds.sql',
  'pipeline/alert/raise.sql',
  'pipeline/alert/read-rules.sql',
  'pipeline/alert/read-tail.sql',
  'pipeline/alert/read-to-route.sql',
  'pipeline/alert/read-ways.sql',
  'pipeline/alert/resolve.sql',
  'pipeline/alert/settle.sql',
  'pipeline/alert/shrink-tail.sql',
  'pipeline/alert/take-back-ping.sql',
  'pipeline/alert/waiting.sql',
  'pipeline/alert/well-again.sql',
  'pipeline/alert/write-routed.sql',
  'pipeline/account/claim-count.sql',
  'pipeline/account/clear-brake.sql',
  'pipeline/account/count-runs.sql',
  'pipeline/account/set-brake.sql',
  'pipeline/account/summarize-ledger.sql',
  'pipeline/intervene/relieved-jobs.sql',
]

/** What may go through a table, because it is rare. */
const mayScan: Record<string, string[]> = {
  // After the answer to a lease was lost.
  'pipeline/queue/held.sql': ['queue'],
  // Once for each process that died.
  'pipeline/recover/rescue.sql': ['queue'],
  'pipeline/recover/rescued.sql': ['queue'],
  // When a person looks at the cluster.
  'pipeline/account/cluster-load.sql': ['queue'],
  'pipeline/account/show-stats.sql': ['queue', 'jobs', 'dead_letters', 'replays'],
  'pipeline/record/live-runs.sql': ['queue'],
  // While somebody watches, a tenth of the time.
  'pipeline/record/tail-running.sql': ['queue'],
  // One process for the whole fleet, every five seconds and a twentieth of its time at most.
  'pipeline/monitor/count-fleet.sql': ['queue', 'dead_letters'],
  // When a person changes many jobs at once.
  'pipeline/register/bulk/match-jobs.sql': ['jobs'],
  // One step of the index, from its end.
  'pipeline/register/bulk/latest-job.sql': ['jobs'],
  // When a person looks at the hosts, or limits how many runs one may have at once.
  'pipeline/protect/list-targets.sql': ['queue', 'jobs'],
  'pipeline/protect/put-limits.sql': ['queue'],
  // When a person asks by the name of a job that is gone.
  'pipeline/account/job-of-name.sql': ['jobs'],
  // One step of the index for each job that has any.
  'pipeline/intervene/unannounced-letters.sql': ['dead_letters'],
  // Some times a day, in the background.
  'pipeline/archive/forget-collected.sql': ['replays'],
}

/** What the hot statements find their rows by. */
const intended: Record<string, string[]> = {
  'pipeline/alert/fleet-state.sql': ['timers_start'],
  'pipeline/alert/learned.sql': ['ledger_history'],
  'pipeline/alert/waiting.sql': ['queue_ready', 'queue_waiting', 'timers_start', 'jobs_pkey'],
  'pipeline/archive/forget-effects.sql': ['effects_old'],
  'pipeline/effects/recall-effect.sql': ['effects_pkey'],
  'pipeline/effects/remember-effect.sql': ['effects_pkey'],
  'pipeline/fire/scan-due.sql': ['timers_start'],
  'pipeline/fire/load-horizon.sql': ['timers_start'],
  'pipeline/fire/scheduled-load.sql': ['timers_start'],
  'pipeline/fire/changed.sql': ['jobs_changed', 'timers_pkey'],
  'pipeline/fire/read-timers.sql': ['timers_start', 'jobs_pkey'],
  'pipeline/fire/fire.sql': ['timers_start', 'queue_slot'],
  'pipeline/fire/fire-plain.sql': ['queue_pkey'],
  'pipeline/fire/overlap.sql': ['timers_start', 'queue_slot'],
  'pipeline/fire/read-replays.sql': ['replays_running', 'queue_pkey'],
  'pipeline/fire/read-backfills.sql': ['replays_backfilling', 'queue_pkey'],
  'pipeline/fire/replay.sql': ['replays_pkey', 'queue_slot'],
  'pipeline/intervene/redrive-letter.sql': ['dead_letters_pkey', 'timers_pkey', 'jobs_pkey'],
  'pipeline/intervene/unannounced-letters.sql': ['dead_letters_latest_of_job'],
  'pipeline/monitor/vital-signs.sql': ['timers_start', 'queue_ready'],
  'pipeline/queue/lease.sql': ['queue_ready', 'queue_waiting', 'queue_slot', 'queue_pkey'],
  'pipeline/queue/look.sql': ['queue_ready', 'queue_waiting', 'queue_slot'],
  'pipeline/queue/unserved.sql': ['queue_ready', 'queue_waiting'],
  'pipeline/protect/settle-targets.sql': ['queue_ready', 'queue_waiting'],
  'pipeline/queue/revoked.sql': ['queue_cancel'],
  'pipeline/record/close.sql': ['queue_pkey'],
  'pipeline/record/note-stale.sql': ['ledger_history'],
  'pipeline/record/ends-between.sql': ['queue_pkey', 'ledger_history'],
  'pipeline/remote/find-ended.sql': ['ledger_history'],
  'pipeline/remote/held-by-worker.sql': ['queue_remote'],
  'pipeline/remote/overdue.sql': ['queue_remote'],
  'pipeline/tick-changes.sql': ['tick_changes_pkey'],
  'pipeline/register/create-jobs.sql': ['jobs_live_name'],
  'pipeline/register/job-view.sql': ['ledger_history', 'jobs_id_key', 'timers_pkey', 'queue_pkey'],
  'pipeline/register/jobs-to-resume.sql': ['jobs_to_resume'],
  'pipeline/register/named-job.sql': ['jobs_live_name', 'jobs_past_name'],
  'pipeline/register/list/show-jobs.sql': ['jobs_pkey', 'timers_pkey', 'ledger_history'],
  'pipeline/register/list/near-newest.sql': ['jobs_by_state'],
  'pipeline/register/list/near-name.sql': ['jobs_live_name', 'jobs_past_name'],
  'pipeline/register/list/near-next.sql': ['timers_start'],
  'pipeline/register/lock-timer.sql': ['jobs_id_key', 'timers_pkey'],
}

let database: TestDatabase
let session: pg.Client
let million: Million
/** Tables and ledger partitions with many rows. */
let largeTables: Set<string>
interface Index {
  table: string
  /** Of the whole ledger, where it is the index of a partition. */
  whole: string
  partial: boolean
  /** The first column; NULL for an expression. */
  first: string | null
}
let indexes: Map<string, Index>

beforeAll(async () => {
  database = await createTestDatabase()
  session = await database.session()
  million = await makeMillion(session)
  // As servers are: row-level security must cost no plan anything.
  await session.query('SET ROLE carillon_fleet')
  const tables = await database.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class
     WHERE relnamespace = 'carillon'::regnamespace AND relkind IN ('r', 'p') AND reltuples >= $1`,
    [large],
  )
  largeTables = new Set(tables.map(({ name }) => name))
  const known = await database.query<Index & { name: string }>(
    `SELECT c.relname AS name, t.relname AS table, coalesce(parent.relname, c.relname) AS whole,
            i.indpred IS NOT NULL AS partial, a.attname AS first
     FROM pg_index i
     JOIN pg_class c ON c.oid = i.indexrelid AND c.relnamespace = 'carillon'::regnamespace
     JOIN pg_class t ON t.oid = i.indrelid
     LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0] AND a.attnum > 0
     LEFT JOIN pg_inherits h ON h.inhrelid = c.oid
     LEFT JOIN pg_class parent ON parent.oid = h.inhparent`,
  )
  indexes = new Map(known.map(({ name, ...index }) => [name, index]))
})

afterAll(() => database.close())

test('the tables are large enough to tell a scan from a look', () => {
  expect([...largeTables]).toEqual(
    expect.arrayContaining(['jobs', 'timers', 'queue', 'dead_letters', 'replays', 'effects']),
  )
  expect([...largeTables].some((name) => name.startsWith('ledger_'))).toBe(true)
  expect(files).toContain('pipeline/fire/fire.sql')
})

describe.each(files)('%s', (file) => {
  const text = readFileSync(join(source, file), 'utf8')
  const statement = parseStatement<never, object>(file, text)
  const allowed = mayScan[file] ?? []

  test('reads no large table whole, and by the index that is meant for it', async () => {
    const values = paramTypes(text).map(([name, type]) => plausible(name, type, million))
    const plan = await customPlan(session, statement.text, values)
    expect(wholeReads(plan).filter((table) => !allowed.includes(table))).toEqual([])
    expect([...indexesOf(plan)]).toEqual(expect.arrayContaining(intended[file] ?? []))
  })

  if (ofRequests.includes(file.split('/')[1] ?? '') && !ofTheFleet.includes(file)) {
    test('reads no large table whole where requests are confined to a tenant', async () => {
      const values = paramTypes(text).map(([name, type]) => plausible(name, type, million))
      await session.query("SET ROLE carillon_api; SET carillon.tenant = '1'")
      const plan = await customPlan(session, statement.text, values).finally(() =>
        session.query('SET ROLE carillon_fleet'),
      )
      expect(wholeReads(plan).filter((table) => !allowed.includes(table))).toEqual([])
      expect([...indexesOf(plan)]).toEqual(expect.arrayContaining(intended[file] ?? []))
    })
  }

  // One that is planned for each call has no plan that serves all values.
  if (statement.planned === 'each-time') return
  test('reads no large table whole with the plan that serves all values', async () => {
    const plan = await genericPlan(session, statement, statement.planned)
    expect(wholeReads(plan).filter((table) => !allowed.includes(table))).toEqual([])
  })
})

describe.each([
  ['pipeline/fire/fire-plain.sql', 'timers'],
  ['pipeline/record/close-plain.sql', 'queue'],
])('%s finds its rows in %s by their places', (file, table) => {
  const text = readFileSync(join(source, file), 'utf8')
  const statement = parseStatement<never, object>(file, text)
  const read = (plan: PlanNode[], type: string) =>
    plan.filter((node) => node['Node Type'] === type).map((node) => node['Relation Name'])

  test('with a plan made for the call', async () => {
    const values = paramTypes(text).map(([name, type]) => plausible(name, type, million))
    expect(read(await customPlan(session, statement.text, values), 'Tid Scan')).toEqual([table])
  })

  test('with the plan that is kept', async () => {
    const plan = await genericPlan(session, statement, 'once')
    expect(read(plan, 'Tid Scan')).toEqual([table])
    expect(read(plan, 'Seq Scan')).toEqual([])
    expect(read(plan, 'Hash Join')).toHaveLength(table === 'queue' ? 1 : 0)
  })

  test('with a plan that was made while the tables were empty', async () => {
    const empty = await createTestDatabase()
    try {
      const hers = await empty.session()
      await hers.query('VACUUM ANALYZE carillon.queue, carillon.timers, carillon.tenant_slots')
      await hers.query('SET ROLE carillon_fleet')
      const plan = await genericPlan(hers, statement, 'once')
      expect(read(plan, 'Tid Scan')).toEqual([table])
      expect(read(plan, 'Seq Scan')).toEqual([])
      // Whoever joins results with rows in a loop makes a million comparisons of a thousand of each.
      expect(read(plan, 'Hash Join')).toHaveLength(table === 'queue' ? 1 : 0)
    } finally {
      await empty.close()
    }
  })
})

describe('the list of jobs, by what is rare about them', () => {
  const file = 'pipeline/register/list/matching.sql'
  const text = readFileSync(join(source, file), 'utf8')
  const none = Object.fromEntries(paramTypes(text).map(([name]) => [name, null]))
  const usual = {
    ...none,
    tenant: 2,
    states: ['active', 'paused', 'ended', 'cancelled'],
    rare_id: false,
    by_name: false,
    after_name: '',
    after_job: Number.MAX_SAFE_INTEGER,
    most: 21,
  }

  test.each([
    ['a part of the name', { pattern: '%rarity%' }, ['jobs_name_search', 'jobs_text_search']],
    [
      'the beginning of an id',
      { pattern: '%job_0%', id_from: rareId(0), id_to: rareId(9), rare_id: true },
      ['jobs_id_key'],
    ],
    ['its target', { routes: [1020] }, ['jobs_by_route']],
    ['tags', { tags: ['rare'] }, ['jobs_by_tag']],
    ['its owner', { managed_by: 'owner' }, ['jobs_by_owner']],
  ])('%s', async (_name, filter, expected) => {
    const values = Object.values({ ...usual, ...filter })
    const plan = await customPlan(session, parseStatement<never, object>(file, text).text, values)
    expect(wholeReads(plan)).toEqual([])
    expect([...indexesOf(plan)]).toEqual(expect.arrayContaining(expected))
  })
})

test('every statement that is named here is there', () => {
  expect(files).toEqual(
    expect.arrayContaining([...Object.keys(mayScan), ...Object.keys(intended), ...ofTheFleet]),
  )
})

function rareId(last: number): string {
  return last.toString().padStart(32, '0')
}

/**
 * The large tables that a plan goes through: by a scan of the table, or of an index without a condition on its first
 * column. Timers of a partition without a bound in time count, too: they are four thousand for a look at a few.
 */
function wholeReads(plan: PlanNode[]): string[] {
  return plan.flatMap((node) => {
    const name = node['Index Name']
    if (name === undefined) return node['Node Type'] === 'Seq Scan' ? largeOnly(node['Relation Name']) : []
    const { table, partial, first } = indexes.get(name) ?? { table: '', partial: true, first: null }
    const condition = node['Index Cond'] ?? ''
    if (name === 'timers_start') return condition.includes('start_at') ? [] : ['timers']
    const bounded = first === null ? condition !== '' : new RegExp(`\\b${first}\\b`).test(condition)
    return bounded || partial ? [] : largeOnly(table)
  })
}

function largeOnly(table: string | undefined): string[] {
  return table !== undefined && largeTables.has(table) ? [table] : []
}

function indexesOf(plan: PlanNode[]): Set<string> {
  const names = plan.flatMap((node) =>
    [node['Index Name'] ?? [], node['Conflict Arbiter Indexes'] ?? []].flat(),
  )
  return new Set(names.map((name) => indexes.get(name)?.whole ?? name))
}
