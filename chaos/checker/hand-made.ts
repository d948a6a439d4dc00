// Ledgers made by hand: six ticks of one job, all well. Tests change one thing.
import { check } from './check.mjs'

export const start = Date.parse('2026-06-01T12:00:00Z')
export const end = start + 60_000
export const tick = (at: number) => start + at * 10_000
/** As it is stored: without what has its ordinary value. */
export const definition = { name: 'job', schedule: '*/10 * * * * *', anchor: start, max_retries: 2 }

export type Entry = Record<string, unknown>
export type World = ReturnType<typeof world>

export const row = (at: number, more: Entry = {}): Entry => ({
  job: 1,
  partition: 3,
  due: tick(at),
  due_to: null,
  ticks: 1,
  origin: 0,
  seq: 0,
  outcome: 'success',
  final: true,
  round: 0,
  attempt: 1,
  max_attempts: 3,
  version: 1,
  epoch: 5,
  token: at * 10,
  worker: 70,
  catch_up: false,
  available_at: tick(at),
  fired_at: tick(at) - 1_000,
  leased_at: tick(at) - 500,
  started_at: tick(at) + 1,
  finished_at: tick(at) + 5,
  recorded_at: tick(at) + 6,
  reason: null,
  ...more,
})
export const delivery = (at: number, more: Entry = {}): Entry => ({
  in: tick(at) + 2,
  out: tick(at) + 4,
  said: 'ok',
  job: 'job_1',
  due: tick(at),
  origin: 0,
  seq: 0,
  attempt: 1,
  token: at * 10,
  key: `job_1:${tick(at)}`,
  ...more,
})
export const killed = { fault: 'kill', number: 1, at: tick(2) + 3, victims: [{ name: 'worker-1', pid: 7 }] }
export const death = { ended: 'worker-1', name: 'worker-1', pid: 7, signal: 'SIGKILL', at: tick(2) + 3 }

/** Six ticks, each fired, delivered once and closed, by one worker that lives. */
export function world() {
  return {
    settings: {
      end,
      leastTicks: 1,
      ttlMs: 3_000,
      runLeaseMs: 6_000,
      lateMs: 10_000,
      overloadMs: 10_000,
      calendars: {},
    },
    nemesis: [
      { started: 'worker-1', name: 'worker-1', pid: 7, at: start, ready: true, roles: ['worker'] },
      { health: { left: null, sizes: [] }, at: end },
      { verify: { unaccounted: 0, doubled: 0, unexpected: 0, wrong_count: 0, exit_code: 0 }, at: end },
    ] as Entry[],
    client: [] as Entry[],
    deliveries: new Map([['job_1', [1, 2, 3, 4, 5, 6].map((at) => delivery(at))]]),
    tables: {
      jobs: [
        {
          job: 1,
          id: 'job_1',
          partition: 3,
          name: 'job',
          state: 'active',
          version: 1,
          definition,
          effective_from: start,
          accounted_through: end,
          ended_at: null,
        },
      ] as Entry[],
      segments: [] as Entry[],
      versions: [] as Entry[],
      queue: [] as Entry[],
      replays: [] as Entry[],
      dead_letters: [] as Entry[],
      incarnations: [
        { incarnation: 70, pid: 7, roles: ['worker'], state: 'alive', started_at: start, ended_at: null },
      ] as Entry[],
      partitions: [{ partition: 3, epoch: 5, owner: 'alive', held: true }] as Entry[],
      tenants: [{ tenant: 1, jobs: 1, live: 1 }] as Entry[],
    },
    ledger: [1, 2, 3, 4, 5, 6].map((at) => row(at)),
  }
}

export const deliveriesOf = (all: World) => all.deliveries.get('job_1') as Entry[]

/** The job's definition has this as well. */
export function withDefinition(all: World, more: Entry): void {
  Object.assign(all.tables.jobs[0] as Entry, { definition: { ...definition, ...more } })
}

/** The worker died amid the second tick, which another one delivered again and closed. */
export function withRescue(all: World): void {
  all.nemesis.push(
    killed,
    { killed: 7, at: tick(2) + 3 },
    death,
    { lifted: 1, at: tick(2) + 900 },
    { healed: 1, at: tick(2) + 1_000, settled: true },
  )
  all.tables.incarnations[0] = {
    incarnation: 70,
    pid: 7,
    roles: ['worker'],
    state: 'dead',
    started_at: start,
    ended_at: tick(2) + 900,
  }
  all.tables.incarnations.push({
    incarnation: 71,
    pid: 8,
    roles: ['worker'],
    state: 'alive',
    started_at: start,
    ended_at: null,
  })
  const lost = {
    outcome: 'failed',
    final: false,
    reason: 'worker_lost',
    started_at: null,
    finished_at: null,
    recorded_at: tick(2) + 1_000,
  }
  const again = {
    attempt: 2,
    token: 25,
    worker: 71,
    started_at: tick(2) + 1_100,
    recorded_at: tick(2) + 1_200,
  }
  all.ledger.splice(1, 1, row(2, lost), row(2, again))
  for (const after of all.ledger.slice(3)) after.worker = 71
  const [, second] = deliveriesOf(all)
  Object.assign(second as Entry, { out: null, said: null })
  deliveriesOf(all).splice(2, 0, delivery(2, { in: tick(2) + 1_100, attempt: 2, token: 25 }))
}

/** The kinds of violations in it, once it is changed. */
export async function found(change: (all: World) => void): Promise<string[]> {
  const all = world()
  change(all)
  const { verdict } = await check(all)
  return Object.keys(verdict.violations).sort()
}
