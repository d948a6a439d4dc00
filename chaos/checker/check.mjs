// The checker: all that happened comes in, in four ledgers, and nothing else does. Ticks are computed by the oracle.
import { accountFor } from './accounting.mjs'
import { judgeAnswers, judgeCalls, judgeCounts } from './api.mjs'
import { closesOf, judgeClaims, judgeDeliveries, judgeStarts } from './deliveries.mjs'
import { placesOf, wholeTables } from './definitions.mjs'
import { judgeEvidence } from './evidence.mjs'
import { Expectation } from './expected.mjs'
import { judgeBookings, judgeEffects } from './effects.mjs'
import { judgeBackfills, judgeCancels, judgeOrders, judgeRounds } from './interventions.mjs'
import { judgeAttempts, judgeOverlap, judgeSilence } from './policy.mjs'
import {
  FirstFires,
  judgeEnds,
  judgeHealth,
  quantiles,
  Redeliveries,
  Resumptions,
  takeovers,
} from './recovery.mjs'
import { Timeline, Windows } from './timeline.mjs'
import { Verdict } from './verdict.mjs'
import { EpochOrder, judgeIncarnations, judgeWrites } from './writes.mjs'

/**
 * @param {{
 *   settings: { ttlMs: number, runLeaseMs: number, lateMs: number, overloadMs: number, end: number, calendars: object,
 *     leastTicks: number, without?: string[] },
 *   nemesis: object[], client: object[],
 *   deliveries: Map<string, object[]>, effects?: Map<string, object[]>,
 *   tables: { jobs: object[], segments: object[], versions: object[], queue: object[], replays: object[], dead_letters: object[],
 *     incarnations: object[], partitions: object[], tenants: object[] },
 *   ledger: Iterable<object> | AsyncIterable<object>,
 * }} input deliveries by job id, in the order of their arrival; the ledger rising by partition, job, run and time of record
 */
export async function check({
  settings,
  nemesis,
  client,
  deliveries,
  effects = new Map(),
  tables: stored,
  ledger,
}) {
  const verdict = new Verdict()
  const tables = wholeTables(stored)
  const frame = frameOf(settings, nemesis, tables)
  const calls = groupBy(client, ({ name }) => name)
  const life = lifeReader(tables, { deliveries, effects, calls })
  const seen = {
    redeliveries: new Redeliveries(nemesis, frame.incarnations),
    resumptions: new Resumptions(nemesis, frame.clock),
    firstFires: new FirstFires(nemesis, frame.clock),
  }
  const epochs = new EpochOrder(frame.clock)
  let partition = null
  const rowsOf = await groupedLedger(ledger)
  for await (const [job, rows] of rowsOf(tables.jobs)) {
    if (job.partition !== partition) epochs.judge(verdict)
    partition = job.partition
    epochs.see(rows, job.name)
    judgeJob(life(job, rows), frame, seen, verdict)
  }
  epochs.judge(verdict)
  judgeUnknown(tables.jobs, calls, deliveries, verdict)
  judgeAnswers(client, verdict)
  judgeCounts(tables.tenants, verdict)
  judgeOrders(client, tables.orders ?? [], new Set(tables.jobs.map(({ id }) => id)), verdict)
  judgeIncarnations(frame.starts, tables.incarnations, verdict)
  judgeEnds(nemesis, verdict)
  judgeEvidence(settings, nemesis, verdict)
  judgeHealth({ ...tables, looks: nemesis.flatMap(({ health }) => health ?? []) }, verdict)
  for (const { healed, settled } of nemesis)
    if (settled === false) verdict.add('not_settled', `after fault ${healed}`)
  const times = takeovers(nemesis, settings.ttlMs, seen.firstFires)
  if (times.never > 0) verdict.add('not_settled', `${times.never} takeovers never came`)
  return {
    verdict,
    figures: {
      ...times,
      redelivery_ms: quantiles(seen.redeliveries.ms),
      redelivery_remote_ms: quantiles(seen.redeliveries.remoteMs),
      firing_again_ms: quantiles(seen.resumptions.ms),
    },
  }
}

function frameOf(settings, nemesis, tables) {
  const incarnations = new Map(tables.incarnations.map((one) => [one.incarnation, one]))
  const clock = new Timeline(
    nemesis.filter(({ clock }) => clock === 'database'),
    settings.driftMs,
  )
  const liftedAt = new Map(
    nemesis.filter(({ lifted }) => lifted !== undefined).map(({ lifted, at }) => [lifted, at]),
  )
  const faults = nemesis
    .filter(({ fault }) => fault !== undefined)
    .map((entry) => ({ ...entry, lifted: liftedAt.get(entry.number) ?? Number.POSITIVE_INFINITY }))
  const entries = (kind) => nemesis.filter((entry) => entry[kind] !== undefined)
  const [starts, ends] = [entries('started'), entries('ended')]
  const told = { incarnations, clock, ttlMs: settings.ttlMs }
  const windows = new Windows(faults, entries('terminated'), ends, told)
  const standing = faults.filter(({ fault }) => fault === 'freeze' || fault === 'block')
  const still = new Windows(standing, [], [], told)
  const first = Math.min(settings.end, ...tables.jobs.map(({ effective_from }) => effective_from))
  const expectation = new Expectation({ from: first, to: settings.end, calendars: settings.calendars })
  // What is caught up after that is in no table.
  const exportedAt = entries('exported')[0]?.at ?? Number.POSITIVE_INFINITY
  return { settings, end: settings.end, exportedAt, incarnations, clock, windows, still, starts, expectation }
}

/** Everything about one job, from all ledgers. */
function lifeReader(tables, { deliveries, effects, calls }) {
  const names = ['segments', 'versions', 'queue', 'replays', 'dead_letters', 'backfills', 'bookings']
  const [segments, versions, queue, replays, letters, backfills, bookings] = names.map((name) =>
    groupBy(tables[name] ?? [], ({ job }) => job),
  )
  return (job, ledger) => ({
    job,
    ledger,
    segments: segments.get(job.job) ?? [],
    queue: queue.get(job.job) ?? [],
    replays: replays.get(job.job) ?? [],
    letters: letters.get(job.job) ?? [],
    backfills: backfills.get(job.job) ?? [],
    bookings: bookings.get(job.id) ?? [],
    effects: effects.get(job.id) ?? [],
    byVersion: new Map(
      [...(versions.get(job.job) ?? []), job].flatMap(({ version, definition }) =>
        definition === null ? [] : [[version, definition]],
      ),
    ),
    calls: calls.get(job.name) ?? [],
    deliveries: deliveries.get(job.id) ?? [],
  })
}

function judgeJob(life, frame, seen, verdict) {
  const { job, ledger, deliveries, letters } = life
  accountFor(life, frame, verdict)
  judgeOverlap(life, frame.clock, verdict)
  const closes = closesOf(ledger)
  const stoodStill = ({ token, in: at }) => {
    const row = closes.get(token)
    if (row === undefined) return frame.still.open(at)
    return frame.still.met(row.worker, row.leased_at ?? row.recorded_at, row.recorded_at)
  }
  judgeSilence(life, stoodStill, verdict)
  const of = (rows) => {
    const groups = groupBy(rows, keyOf)
    return (key) => groups.get(key) ?? []
  }
  const arrived = groupBy(deliveries, keyOf)
  const [lettersOf, queuedOf, effectsOf, bookingsOf] = [letters, life.queue, life.effects, life.bookings].map(
    of,
  )
  const runs = groupBy(ledger, keyOf)
  const queued = new Set(life.queue.map(keyOf))
  for (const [key, rows] of runs) {
    const run = {
      ...{ name: `${job.name} ${new Date(rows[0].due).toISOString()}`, key, rows, calls: life.calls },
      ...{ deliveries: arrived.get(key) ?? [], letters: lettersOf(key), queued: queuedOf(key) },
      ...{ effects: effectsOf(key), bookings: bookingsOf(key), byVersion: life.byVersion },
      isHostile: job.name.startsWith('hostile-'),
      isHog: job.name.startsWith('hog-'),
    }
    judgeStarts(run.name, rows, verdict)
    judgeClaims(run.name, rows, run.deliveries, verdict)
    judgeAttempts(run, verdict)
    judgeRounds(run, verdict)
    judgeCancels(run, stoodStill, verdict)
    judgeFires(run, verdict)
    if (job.name.startsWith('effect-')) judgeEffects(run, verdict)
    if (job.name.startsWith('book-')) judgeBookings(run, verdict)
    for (const round of roundsOf(run)) {
      judgeWrites(round, frame, verdict)
      if (round.deliveries.length > 0) judgeDeliveries(round, frame, verdict)
    }
    seen.redeliveries.see(rows, run.deliveries, placeTaken(life, key))
  }
  const ticksBetween = (from, to) =>
    frame.expectation.ticksOf([
      { from: Math.max(from - 1, frame.expectation.from), to: to - 1, definition: job.definition },
    ])
  judgeBackfills(life, { ticksBetween, knownFrom: frame.expectation.from }, verdict)
  const scheduled = ledger.filter(({ origin }) => origin === 0)
  seen.resumptions.see(scheduled)
  seen.firstFires.see(job.partition, scheduled)
  for (const [key, some] of arrived) {
    verdict.count('deliveries', some.length)
    if (!runs.has(key) && !queued.has(key) && some[0].due <= frame.end && some[0].in < frame.exportedAt)
      verdict.add(
        'foreign',
        `${job.name} ${new Date(some[0].due).toISOString()} was delivered, and is not on record`,
      )
  }
  const known = new Set([...ledger, ...deliveries, ...life.queue].map(keyOf))
  judgeCalls(
    { name: job.name, calls: life.calls, job, versions: [...life.byVersion.values()], known },
    verdict,
  )
}

/** A run round by round: each has its attempts anew. What is under way, and on no record yet, is of the latest. */
function roundsOf(run) {
  const rounds = groupBy(run.rows, ({ round }) => round)
  if (rounds.size === 1) return [run]
  const latest = Math.max(...rounds.keys(), ...run.queued.map(({ round }) => round))
  const roundOf = new Map(run.rows.map(({ token, round }) => [token, round]))
  const deliveries = groupBy(run.deliveries, ({ token }) => roundOf.get(token) ?? latest)
  return [...rounds].map(([round, rows]) => ({ ...run, rows, deliveries: deliveries.get(round) ?? [] }))
}

/** Whether a run had to wait: its job has only so many places, and others began in the meantime, or somebody had paused it. */
function placeTaken({ byVersion, deliveries, calls }, run) {
  const isLimited = [...byVersion.values()].some((definition) => Number.isFinite(placesOf(definition)))
  const began = (from, to) => (delivery) => delivery.in > from && delivery.in < to && keyOf(delivery) !== run
  const wasPaused = calls.some(({ call }) => call === 'pause')
  return (from, to) => wasPaused || (isLimited && deliveries.some(began(from, to)))
}

/** Of one tick, one run: fired once, at one time, under one epoch. */
function judgeFires({ name, rows }, verdict) {
  const fires = new Set(
    rows
      .filter(({ fired_at, round }) => fired_at !== null && round === 0)
      .map(({ fired_at, epoch }) => `${fired_at} under ${epoch}`),
  )
  if (fires.size > 1) verdict.add('double_firings', `${name} was fired ${[...fires].join(' and ')}`)
}

/** Jobs that the client or the receiver knows of, and the database does not. */
function judgeUnknown(jobs, calls, deliveries, verdict) {
  const names = new Set(jobs.map(({ name }) => name))
  for (const [name, about] of calls) {
    if (!names.has(name) && about[0].call !== 'poison')
      judgeCalls({ name, calls: about, job: undefined, versions: [], known: new Set() }, verdict)
  }
  const ids = new Set(jobs.map(({ id }) => id))
  for (const id of deliveries.keys())
    if (!ids.has(id)) verdict.add('lost_acknowledged', `${id} was delivered, and there is no such job`)
}

/** One job after the other; jobs without rows, too. */
async function groupedLedger(ledger) {
  const rows = ledger[Symbol.asyncIterator]?.() ?? ledger[Symbol.iterator]()
  let next = await rows.next()
  return async function* (jobs) {
    for (const job of jobs) {
      const mine = []
      while (!next.done && next.value.job === job.job) {
        mine.push(next.value)
        next = await rows.next()
      }
      yield [job, mine]
    }
    if (!next.done)
      throw new Error(
        `The ledger has rows of job ${next.value.job}, which is not in its order, or not there.`,
      )
  }
}

/** Which run of its job. */
function keyOf({ due, origin, seq }) {
  return `${due} ${origin} ${seq}`
}

function groupBy(items, keyOf) {
  const groups = new Map()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [item])
    else group.push(item)
  }
  return groups
}
