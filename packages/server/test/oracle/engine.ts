import { CarillonError } from '@carillon/contract'
import { parseSchedule, type Schedule } from '../../src/time/schedule.js'
import { disagreement, text } from './compare.mjs'
import { type OracleSource, oracleTicks } from './oracle.mjs'

/** The engine's schedule, or null where it refuses a rule because no instant ever matches it. */
export function engineOf(source: OracleSource): Schedule | null {
  try {
    return parseSchedule(source)
  } catch (error) {
    if (error instanceof CarillonError && error.code === 'schedule_never_fires') return null
    throw error
  }
}

/** Throws unless engine and oracle agree on every tick of the window, asked in every way. */
export function expectAgreement(
  source: OracleSource,
  from: number,
  to: number,
  probes: number[] = [],
): number {
  const schedule = engineOf(source)
  const expected = oracleTicks(source, from, to)
  const difference = schedule
    ? disagreement(schedule, expected, from, to, probes)
    : wronglyRefused(source, from, to)
  if (difference) {
    const { schedule: rule, timezone, ...rest } = source
    throw new Error(
      `${JSON.stringify(rule)} in ${timezone} ${JSON.stringify(rest)} from ${text(from)} to ${text(to)}\n${difference}`,
    )
  }
  return expected.length
}

/**
 * A rule that can never match (day 30 of February) is a mistake also beside others; an instant that a policy drops is
 * none, as long as another rule fires.
 */
function wronglyRefused(source: OracleSource, from: number, to: number): string | null {
  const [first] = oracleTicks(source, from, to)
  if (first === undefined) return null
  const rules = Array.isArray(source.schedule) ? source.schedule : []
  const impossible = rules.some((schedule) => {
    const alone = { ...source, schedule }
    const isInstant = typeof schedule === 'object' && 'at' in schedule
    return !isInstant && engineOf(alone) === null && oracleTicks(alone, from, to).length === 0
  })
  return impossible ? null : `refused as never firing, but it fires at ${text(first)}`
}

/** Fixed, so that every run proves the same sample; another one is a matter of setting it. */
export const seed = Number(process.env['CARILLON_PROOF_SEED'] ?? 20_260_329)
/** How many times the usual sample. */
const effort = Number(process.env['CARILLON_PROOF_EFFORT'] ?? 1)

export const sample = (numRuns: number): { seed: number; numRuns: number } => ({
  seed,
  numRuns: Math.ceil(numRuns * effort),
})

/** A larger sample takes longer. */
export const patience = 120_000 * Math.max(1, effort)
