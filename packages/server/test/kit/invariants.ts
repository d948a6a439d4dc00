import { ticksBetween } from './account.js'
import { type LedgerRow, ledgerOf, queueOf } from './rows.js'
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
  ]
  return faults.map((fault) => `job ${job.key} (${JSON.stringify(job.rule.schedule)}): ${fault}`)
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

/** Ticks are fired in order, each under the epoch of its time: a later tick never has an older one. Zero: fired by nobody. */
function olderEpochs(rows: readonly LedgerRow[]): string[] {
  const fired = rows.filter(({ final, epoch }) => final && epoch > 0).sort((a, b) => a.due - b.due)
  return fired.flatMap((row, at) =>
    at > 0 && row.epoch < (fired[at - 1]?.epoch ?? 0)
      ? [`${row.due} has an older epoch than the tick before`]
      : [],
  )
}

function deadLetters(rows: readonly LedgerRow[], letters: ReadonlySet<number>): string[] {
  const dead = new Set(rows.filter(({ final, outcome }) => final && outcome === 'dead').map(({ due }) => due))
  return [
    ...[...dead].filter((due) => !letters.has(due)).map((due) => `${due} is dead without a letter`),
    ...[...letters].filter((due) => !dead.has(due)).map((due) => `${due} has a letter and is not dead`),
  ]
}
