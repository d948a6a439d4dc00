import { ticksBetween } from './account.js'
import { type LedgerRow, ledgerOf, queueOf, type ReplayRow, replaysOf } from './rows.js'
import type { SimulatedJob } from './simulation.js'
import type { House } from './use-house.js'

/** Everything that is wrong with what became of a job's ticks up to `end`. Nothing, if every promise was kept. */
export async function faultsOf(house: House, job: SimulatedJob, end: number): Promise<string[]> {
  const rows = await ledgerOf(house, job)
  const inFlight = (await queueOf(house, job)).map(({ due }) => due)
  const letters = await house.query<{ due: number }>('SELECT due FROM carillon.dead_letters WHERE job = $1', [
    job.key,
  ])
  const faults = [
    ...unaccounted(job, rows, end),
    ...brokenChain(job, rows),
    ...wrongAttempts(rows),
    ...olderEpochs(rows),
    ...inFlight
      .filter((due) => finalOf(rows, due) !== undefined)
      .map((due) => `${due} is closed and in the queue`),
    ...inFlight.filter((due) => due <= end).map((due) => `${due} is still in the queue`),
    ...deadLetters(rows, new Set(letters.map(({ due }) => due))),
    ...(await replaysOf(house, job)).flatMap((replay) => wrongReplay(job, replay)),
    ...(await faultsInRounds(house, job)),
  ]
  return named(job, faults)
}

/**
 * What is wrong with the account of a live job at any moment, whatever is under way: every tick up to the cursor is in
 * exactly one place, in the queue, in the ledger or in what is left of a replay, and none beyond it is anywhere.
 */
export async function faultsInAccount(house: House, job: SimulatedJob): Promise<string[]> {
  const [timer] = await house.query<{ accounted_through: number }>(
    'SELECT accounted_through FROM carillon.timers WHERE job = $1',
    [job.key],
  )
  if (timer === undefined || job.deletedAt !== null) return []
  const queued = await queueOf(house, job)
  const replays = await replaysOf(house, job)
  const places = new Map<number, string[]>()
  const put = (tick: number, place: string) => places.set(tick, [...(places.get(tick) ?? []), place])
  for (const { due } of queued) put(due, 'queue')
  for (const row of (await ledgerOf(house, job)).filter(({ final }) => final)) {
    for (const tick of ticksBetween(job.rule, row.due - 1, row.due_to ?? row.due)) put(tick, row.outcome)
  }
  for (const { state, cursor_ms: from, to_ms: to } of replays) {
    if (state !== 'running' && state !== 'paused') continue
    for (const tick of ticksBetween(job.rule, from - 1, to)) put(tick, 'replay')
  }
  const owed = new Set(ticksBetween(job.rule, job.from, timer.accounted_through))
  const caughtUp = queued.filter(({ catch_up }) => catch_up)
  return named(job, [
    ...[...owed].filter((tick) => !places.has(tick)).map((tick) => `${tick} is nowhere`),
    ...[...places].flatMap(([tick, where]) => [
      ...(where.length > 1 ? [`${tick} is in ${where.join(' and ')}`] : []),
      ...(owed.has(tick) ? [] : [`${tick} is in ${where.join()} and beyond the cursor`]),
    ]),
    ...(caughtUp.length > 1 ? [`${caughtUp.length} runs catch up at once`] : []),
    ...replays.flatMap((replay) => wrongReplay(job, replay)),
  ])
}

/**
 * What is wrong with the rounds of a job's runs at any moment: a run is in exactly one of queue, dead letters, closed; rounds
 * end once each, one after another, and only a death lets another one begin.
 */
export async function faultsInRounds(house: House, job: { key: number }): Promise<string[]> {
  const runs = await house.query<{
    due: number
    seq: number
    queued: number | null
    letter: number | null
    rounds: number[] | null
    outcomes: string[] | null
  }>(
    `SELECT due, seq, max(round) FILTER (WHERE place = 'queue') AS queued,
            max(round) FILTER (WHERE place = 'letters') AS letter,
            array_agg(round::int ORDER BY round) FILTER (WHERE place = 'ledger') AS rounds,
            array_agg(outcome ORDER BY round) FILTER (WHERE place = 'ledger') AS outcomes
     FROM (
       SELECT due, origin, seq, round, 'queue' AS place, NULL AS outcome FROM carillon.queue WHERE job = $1
       UNION ALL
       SELECT due, origin, seq, round, 'letters', NULL FROM carillon.dead_letters WHERE job = $1
       UNION ALL
       SELECT due, origin, seq, round, 'ledger', outcome::text FROM carillon.ledger WHERE job = $1 AND final
     ) placed
     GROUP BY due, origin, seq`,
    [job.key],
  )
  return runs.flatMap(({ due, seq, queued, letter, rounds, outcomes }) => {
    const [ended, how] = [rounds ?? [], outcomes ?? []]
    const name = `the run of ${due} (${seq})`
    const begun = queued === null ? ended : [...ended, queued]
    return [
      ...(queued !== null && letter !== null ? [`${name} is in the queue and a dead letter`] : []),
      ...(begun.every((round, at) => round === at) ? [] : [`${name} has the rounds ${begun.join(', ')}`]),
      ...(how.slice(0, queued === null ? -1 : undefined).every((outcome) => outcome === 'dead')
        ? []
        : [`${name} was re-driven although it ended as ${how.join(', ')}`]),
      ...(letter === null || (letter === ended.at(-1) && how.at(-1) === 'dead')
        ? []
        : [`${name} is a dead letter of round ${letter}, and ended ${how.join(', ')}`]),
    ]
  })
}

function named(job: SimulatedJob, faults: readonly string[]): string[] {
  return faults.map((fault) => `job ${job.key} (${JSON.stringify(job.rule.schedule)}): ${fault}`)
}

/** The second cursor counts rightly: what is done and what is left are all of it. */
function wrongReplay(job: SimulatedJob, replay: ReplayRow): string[] {
  const { from_ms: from, to_ms: to, cursor_ms: cursor, total, done, state } = replay
  const name = `replay ${replay.replay} (${state})`
  const all = ticksBetween(job.rule, from - 1, to)
  const left = state === 'done' ? 0 : ticksBetween(job.rule, cursor - 1, to).length
  return [
    ...(all[0] === from && all.at(-1) === to ? [] : [`${name} does not go from a tick to a tick`]),
    ...(all.length === total ? [] : [`${name} says ${total} ticks instead of ${all.length}`]),
    ...(done + left === total ? [] : [`${name} has done ${done} and has ${left} left of ${total}`]),
  ]
}

function finalOf(rows: readonly LedgerRow[], due: number): LedgerRow | undefined {
  return rows.find((row) => row.final && row.due === due)
}

/** Every due tick has exactly one final row, and no row is about an instant that is none of the job's. */
function unaccounted(job: SimulatedJob, rows: readonly LedgerRow[], end: number): string[] {
  const limit = Math.min(end, job.deletedAt ?? end)
  const counts = new Map<number, number>()
  for (const row of rows.filter(({ final }) => final)) {
    for (const tick of ticksBetween(job.rule, row.due - 1, row.due_to ?? row.due)) {
      counts.set(tick, (counts.get(tick) ?? 0) + 1)
    }
  }
  const owed = ticksBetween(job.rule, job.from, limit)
  const known = new Set(ticksBetween(job.rule, job.from, end + 3_600_000))
  return [
    ...owed.filter((tick) => !counts.has(tick)).map((tick) => `${tick} has no final row`),
    ...[...counts].filter(([, count]) => count > 1).map(([tick, count]) => `${tick} has ${count} final rows`),
    ...rows.filter(({ due }) => !known.has(due)).map(({ due }) => `${due} is no tick of this job`),
  ]
}

/** Each final row leads to the tick after it, and counts the ticks it stands for rightly. */
function brokenChain(job: SimulatedJob, rows: readonly LedgerRow[]): string[] {
  return rows
    .filter(({ final }) => final)
    .flatMap((row) => {
      const last = row.due_to ?? row.due
      const [next] = ticksBetween(job.rule, last, last + 86_400_000).slice(0, 1)
      const ticks = ticksBetween(job.rule, row.due - 1, last).length
      return [
        ...((row.next_due ?? undefined) === next
          ? []
          : [`${row.due} leads to ${row.next_due}, not to ${next}`]),
        ...(row.ticks === ticks ? [] : [`${row.due} counts ${row.ticks} ticks instead of ${ticks}`]),
      ]
    })
}

/** Attempts are numbered from one without a gap, one row each, with tokens that grow, and no more than allowed. */
function wrongAttempts(rows: readonly LedgerRow[]): string[] {
  const attempts = new Map<number, LedgerRow[]>()
  for (const row of rows.filter(({ outcome, attempt }) => outcome !== 'stale' && attempt > 0)) {
    attempts.set(row.due, [...(attempts.get(row.due) ?? []), row])
  }
  return [...attempts].flatMap(([due, made]) => {
    const ordered = made.sort((a, b) => a.attempt - b.attempt)
    const numbers = ordered.map(({ attempt }) => attempt)
    const tokens = ordered.flatMap(({ token }) => (token === null ? [] : [token]))
    return [
      ...(numbers.every((attempt, at) => attempt === at + 1)
        ? []
        : [`${due} has the attempts ${numbers.join(', ')}`]),
      ...(tokens.every((token, at) => at === 0 || token > (tokens[at - 1] ?? 0))
        ? []
        : [`${due} has falling tokens`]),
      ...(ordered.filter(({ final }) => final).length <= 1 ? [] : [`${due} ended twice`]),
      ...(ordered.at(-1)?.final === false ? [`${due} ended with an attempt that is not final`] : []),
    ]
  })
}

/**
 * Fresh ticks are fired in order, and so are those that catch up, each under the epoch of its time: a later tick never has
 * an older one. Zero: fired by nobody.
 */
function olderEpochs(rows: readonly LedgerRow[]): string[] {
  const fired = rows.filter(({ final, epoch }) => final && epoch > 0).sort((a, b) => a.due - b.due)
  return [true, false].flatMap((catchUp) => {
    const inOrder = fired.filter((row) => row.catch_up === catchUp)
    return inOrder.flatMap((row, at) =>
      at > 0 && row.epoch < (inOrder[at - 1]?.epoch ?? 0)
        ? [`${row.due} has an older epoch than the tick before`]
        : [],
    )
  })
}

function deadLetters(rows: readonly LedgerRow[], letters: ReadonlySet<number>): string[] {
  const dead = new Set(rows.filter(({ final, outcome }) => final && outcome === 'dead').map(({ due }) => due))
  return [
    ...[...dead].filter((due) => !letters.has(due)).map((due) => `${due} is dead without a letter`),
    ...[...letters].filter((due) => !dead.has(due)).map((due) => `${due} has a letter and is not dead`),
  ]
}
