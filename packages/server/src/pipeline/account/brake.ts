import { type Brake, type BrakeInput, CarillonError, limits } from '@carillon/contract'
import type { Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { momentOf } from './moment.js'
import { iso, lasting } from './words.js'

interface BrakeRow {
  window_factor: number
  catch_up_factor: number
  reason: string
  set_at: number
  ends_at: number
}

const showStatement = statement<Record<string, never>, BrakeRow>(new URL('./show-brake.sql', import.meta.url))
const setStatement = statement<
  {
    window_factor: number
    catch_up_factor: number
    reason: string
    for_ms: number | null
    until: number | null
    longest_ms: number
  },
  BrakeRow
>(new URL('./set-brake.sql', import.meta.url))
const clearStatement = statement<Record<string, never>, { was_on: boolean }>(
  new URL('./clear-brake.sql', import.meta.url),
)

const longestMs = limits.brakeSeconds * 1000

export async function showBrake(runner: Runner): Promise<Brake | null> {
  const [row] = await runner.run(showStatement, {})
  return row === undefined ? null : view(row)
}

/** Throws validation_failed for a brake that has no end, does nothing, or is out of bounds. */
export async function setBrake(runner: Runner, input: BrakeInput): Promise<Brake> {
  const windowFactor = within(input.window_factor ?? 1, 1, 100, 'window_factor')
  const catchUpFactor = within(input.catch_up_factor ?? 1, 0, 1, 'catch_up_factor')
  if (input.reason.trim() === '')
    throw refuse('reason', 'is required', 'Say why it is set: others will find it.')
  if (windowFactor === 1 && catchUpFactor === 1)
    throw refuse('', 'would change nothing', 'Give a window_factor above 1 or a catch_up_factor below 1.')
  if ((input.for_seconds === undefined) === (input.until === undefined))
    throw refuse('for_seconds', 'or until is required, and only one of them', 'A brake always has an end.')
  const seconds =
    input.for_seconds === undefined ? null : within(input.for_seconds, 1, limits.brakeSeconds, 'for_seconds')
  const [row] = await runner.run(setStatement, {
    window_factor: windowFactor,
    catch_up_factor: catchUpFactor,
    reason: input.reason,
    for_ms: seconds === null ? null : Math.round(seconds * 1000),
    until: input.until === undefined ? null : momentOf(input.until, '/until'),
    longest_ms: longestMs,
  })
  if (row === undefined) {
    throw refuse(
      'until',
      `must lie ahead, within ${lasting(longestMs)}`,
      'Set it again when it ends, if it is still needed.',
    )
  }
  return view(row)
}

/** Answers whether one was in force. */
export async function clearBrake(runner: Runner): Promise<boolean> {
  const [row] = await runner.run(clearStatement, {})
  return row?.was_on ?? false
}

function within(value: number, least: number, most: number, name: string): number {
  if (Number.isFinite(value) && value >= least && value <= most) return value
  throw refuse(name, `must be a number from ${least} to ${most}, got ${value}`)
}

function refuse(field: string, message: string, hint?: string): CarillonError {
  const pointer = field === '' ? '' : `/${field}`
  return new CarillonError('validation_failed', {
    detail: `${pointer === '' ? 'The brake' : pointer} ${message}.`,
    ...(hint === undefined ? {} : { hint }),
    errors: [{ pointer, message, ...(hint === undefined ? {} : { hint }) }],
  })
}

function view({ set_at, ends_at, ...row }: BrakeRow): Brake {
  return { ...row, set_at: iso(set_at), ends_at: iso(ends_at) }
}
