import type { JobInput } from '@carillon/sdk'
import { type JobFlags, parseJson } from '../job-input.js'
import { durationOf } from '../moments.js'
import { UsageError } from '../usage.js'

/** Who owns the jobs that were seeded: by this they are told from all others. */
export const seedOwner = 'carillon-bench-seed'

export interface SeedFlags extends Pick<JobFlags, 'task' | 'http' | 'payload'> {
  n: string
  rate?: string
  over?: string
  firstIn?: string
  name: string
  tenant?: string
  besideOthers?: boolean
  remove?: boolean
  yes?: boolean
}

const most = 100_000_000
const units: Readonly<Record<string, number>> = { '': 1, k: 1e3, m: 1e6 }

/** "250000", "10k", "1M". */
export function countOf(text: string): number {
  const match = /^(\d{1,9})([km]?)$/i.exec(text.trim())
  const count = match === null ? 0 : Number(match[1]) * (units[(match[2] ?? '').toLowerCase()] ?? 0)
  if (count < 1 || count > most)
    throw new UsageError(`--n is "${text}": a number up to ${most} is expected, such as 250000, 10k or 1M.`)
  return count
}

/** In whole seconds, as an interval is written: the time in which every job fires once. */
export function periodOf(count: number, { rate, over }: Pick<SeedFlags, 'rate' | 'over'>): number {
  if (rate === undefined) return durationOf('--over', over ?? '24h')
  if (over !== undefined)
    throw new UsageError(
      '--rate and --over say the same in two ways, how often each job fires: give one of them.',
    )
  const perSecond = Number(rate)
  if (!(perSecond > 0))
    throw new UsageError(`--rate is "${rate}": firings a second are expected, such as 1000.`)
  if (perSecond > count)
    throw new UsageError(`--rate is ${rate}: ${count} jobs fire ${count} times a second at most, once each.`)
  return Math.round(count / perSecond)
}

/** One of the jobs, as a person would register it. */
export function inputOf(flags: SeedFlags, periodSeconds: number): JobInput {
  const { name, task, http, payload } = flags
  if (!/^[\w.-]{1,100}$/.test(name))
    throw new UsageError('--name is the beginning of their names: 1 to 100 letters, digits, ".", "_" or "-".')
  if (task !== undefined && http !== undefined)
    throw new UsageError('A job has one target: give --http or --task, not both.')
  return {
    name,
    description: null,
    managed_by: seedOwner,
    schedule: `@every ${periodSeconds}s`,
    target: http === undefined ? { type: 'task', task: task ?? 'noop' } : { type: 'http', url: http },
    ...(payload !== undefined && { payload: parseJson(payload, 'The payload') }),
  }
}

/** Alone with the database so many jobs are loaded in a second, at least; the first tick waits for them. */
const loadedPerSecond = 12_000
const leadSeconds = 5

/** How many seconds from now the first of them fires. */
export function leadOf(
  count: number,
  { firstIn, beside }: { firstIn?: string | undefined; beside: boolean },
): number {
  if (firstIn !== undefined) return durationOf('--first-in', firstIn)
  return leadSeconds + (beside ? 0 : Math.ceil(count / loadedPerSecond))
}
