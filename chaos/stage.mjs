// Sets a run up: database, clock, doors, receiver, processes, jobs. Each thing says how it is ended before the next begins.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildClockShim, ShiftedClock } from './clock-shift.mjs'
import { now } from './clock.mjs'
import { Doors, Receiver } from './doors.mjs'
import { Fleet } from './fleet.mjs'
import { Front } from './front.mjs'
import { drawJobs, mixCalendars } from './job-mix.mjs'
import { Journal } from './journal.mjs'
import {
  drawBackfilled,
  drawHogs,
  drawHostile,
  drawInFlight,
  drawLoad,
  drawOnce,
  drawPoison,
  drawRemote,
} from './load.mjs'
import { buildMutant, changeSchema, commandOf } from './mutants/build.mjs'
import { buildRevision } from './old-build.mjs'
import { makeTables } from './orders.mjs'
import { openToAll, Postgres } from './postgres.mjs'

const clockChanges = ['2026-03-29T01:00:00Z', '2026-10-25T01:00:00Z'].map((at) => Date.parse(at))
const settingUpMs = 30_000
const remoteWorkers = 2
/** A tick that a scheduler that is behind may pass over is later than this. */
export const overloadSeconds = 10

/** Every role apart, and together in one process: there runs are handed over as they are made. */
const fleets = {
  full: {
    'api-1': ['api'],
    'api-2': ['api'],
    'scheduler-1': ['scheduler'],
    'scheduler-2': ['scheduler'],
    'worker-1': ['worker'],
    'worker-2': ['worker'],
    'both-1': ['scheduler', 'worker'],
    'both-2': ['scheduler', 'worker'],
  },
  small: {
    'api-1': ['api'],
    'scheduler-1': ['scheduler'],
    'worker-1': ['worker'],
    'both-1': ['scheduler', 'worker'],
    'both-2': ['api', 'scheduler', 'worker'],
  },
}

/** @param {import('./options.mjs').Options} options @param {(() => unknown)[]} undo */
export async function setUp(options, random, say, undo) {
  const parts = fleets[options.fleet]
  if (parts === undefined) throw new Error(`--fleet is ${Object.keys(fleets).join(' or ')}.`)
  const folder = mkdtempSync(join(tmpdir(), 'carillon-chaos-'))
  openToAll(folder)
  const journals = {}
  for (const name of ['nemesis', 'client']) {
    journals[name] = new Journal(join(folder, `${name}.ndjson`))
    undo.push(() => journals[name].close())
  }
  const shim = buildClockShim(folder)
  const { startsAt, clock } = setClock(options, shim, folder, journals.nemesis)
  const wants = (fault) => options.faults === null || options.faults.includes(fault)
  const postgres = await Postgres.make({
    folder,
    clock,
    walDisk: wants('disk-full'),
    isEmpty: options.from !== null,
  })
  undo.push(() => postgres.close())
  await postgres.with(makeTables)
  const build = await mutate(options.mutant, postgres, undo)
  const oldCommand = options.from === null ? null : buildRevision(options.from, folder)
  const receiver = await Receiver.open(join(folder, 'deliveries-http.ndjson'))
  undo.push(() => receiver.close())
  const doors = await Doors.open(postgres.url, Object.keys(parts).length)
  undo.push(() => doors.close())
  const fleet = new Fleet({
    folder,
    databaseUrl: postgres.url,
    doors: doors.ports,
    shim,
    parts,
    command: oldCommand ?? commandOf(build),
    settings: settingsOf(options),
    onStart: (life) => journals.nemesis.append({ started: life.name, ...life, at: now() }),
    onReady: (pid) => journals.nemesis.append({ isReady: pid, at: now() }),
    onTerminate: (pid) => journals.nemesis.append({ terminated: pid, pid, at: now() }),
    onKill: (pid) => journals.nemesis.append({ killed: pid, at: now() }),
    onEnd: (death) => journals.nemesis.append({ ended: death.name, ...death, at: now() }),
  })
  undo.push(() => fleet.end())
  await fleet.start()
  say(`${fleet.members.length} processes are up; all that is written down is in ${folder}`)
  if (options.mix > 0 && options.from === null) {
    const front = await Front.open(() => fleet.with('api'))
    undo.push(() => front.close())
    await fleet.startRemotes(front.url, remoteWorkers)
  }
  const span = { startsAt, endsAt: startsAt + options.minutes * 60_000 }
  const calendars = mixCalendars(span.startsAt, span.endsAt)
  const [{ url }] = fleet.members
  await putCalendars(url, calendars)
  const drawn = [
    ...drawJobs(options.mix, random, span),
    ...drawInFlight(options.mix > 0 ? 40 : 0, random, receiver),
    ...drawHostile(options.mix > 0 ? 8 : 0, receiver),
    ...(options.mix > 0 ? drawPoison() : []),
    ...(options.mix > 0 && options.from === null
      ? [...drawOnce(random), ...drawBackfilled(), ...drawHogs(), ...drawRemote(random)]
      : []),
    ...drawLoad(options.rate, { url: receiver.url, httpShare: options.http }),
  ]
  const jobs = await register(url, drawn, journals.client)
  say(`${jobs.length} jobs are registered, ${options.rate} of them run every second`)
  return { folder, journals, shim, oldCommand, postgres, receiver, doors, fleet, calendars, jobs }
}

/** The folder of the mutant's build, with what it changes in the database done; undefined for the ordinary build. */
async function mutate(mutant, postgres, undo) {
  if (mutant === null) return undefined
  const build = buildMutant(mutant)
  undo.push(() => rmSync(build, { recursive: true, force: true }))
  await postgres.with((client) => changeSchema(mutant, client))
  return build
}

/** Unless told otherwise, the clocks of Europe change in the middle of it: forward with an even seed, back with an odd. */
function setClock(options, shim, folder, journal) {
  const clock = new ShiftedClock(shim, join(folder, 'clock-database'))
  if (shim === null) return { startsAt: Date.now() + settingUpMs, clock }
  const change = clockChanges[options.seed % 2]
  const startsAt = options.at ?? change - options.minutes * 30_000
  clock.shift(Math.round(startsAt - settingUpMs - Date.now()))
  journal.append({ clock: 'database', from: clock.shiftMs, to: clock.shiftMs, at: now() })
  return { startsAt, clock }
}

function settingsOf(options) {
  return {
    CARILLON_MIN_INTERVAL_SECONDS: '1',
    CARILLON_ALLOWED_NETWORKS: '127.0.0.0/8',
    CARILLON_LEASE_TTL_SECONDS: String(options.ttlSeconds),
    CARILLON_RUN_LEASE_SECONDS: String(options.runLeaseSeconds),
    CARILLON_LATE_TOLERANCE_SECONDS: String(options.lateSeconds),
    CARILLON_OVERLOAD_LAG_SECONDS: String(overloadSeconds),
    CARILLON_STATEMENT_TIMEOUT_MS: '4000',
    CARILLON_DRAIN_SECONDS: '10',
    CARILLON_POOL_SIZE: '6',
    CARILLON_WORKER_CONCURRENCY: '500',
    CARILLON_LOG_FORMAT: 'json',
    CARILLON_LOG_LEVEL: 'warn',
    CHAOS_BLOCK_MS: String(options.runLeaseSeconds * 1_000 + 1_000),
  }
}

async function putCalendars(url, calendars) {
  for (const [name, definition] of Object.entries(calendars))
    await send(url, 'PUT', `calendars/${name}`, definition)
}

/** Each of them is written down like a call of the client: one that is not there in the end is noticed. */
async function register(url, drawn, journal) {
  const jobs = []
  for (let at = 0; at < drawn.length; at += 1_000) {
    const some = drawn.slice(at, at + 1_000)
    const invoked = now()
    const { results } = await send(url, 'POST', 'jobs/bulk', { jobs: some.map(({ input }) => input) })
    for (const [index, result] of results.entries()) {
      const { input, ...kind } = some[index]
      if (result.status === 'created') {
        jobs.push({ name: input.name, id: result.job_id, ...kind })
        journal.append({ call: 'create', name: input.name, status: 'ok', invoked, answered: now() })
      } else if (!neverDue.has(result.error.code))
        throw new Error(`${JSON.stringify(input)} was refused: ${JSON.stringify(result)}`)
    }
  }
  return jobs
}

/** Rightly refused: drawn so that its end comes before its first tick, or its instant is over. */
const neverDue = new Set(['schedule_never_fires', 'schedule_in_past'])

async function send(url, method, path, body) {
  const response = await fetch(`${url}/api/v1/${path}`, {
    method,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const answer = await response.json()
  if (!response.ok) throw new Error(`${method} ${path} was refused: ${JSON.stringify(answer)}`)
  return answer
}
