import { statement } from '../../db/statement.js'
import type { AttemptResult } from '../run.js'
import type { Verdict } from './retry.js'

interface PlainParams {
  holder: number
  places: string[]
  tokens: number[]
  started_ats: (number | null)[]
  finished_ats: number[]
  results: (string | null)[]
}

export const closePlainStatement = statement<PlainParams, { tokens: number[] }>(
  new URL('./close-plain.sql', import.meta.url),
)

/** Ends that the short statement can write: the row's place is known, and nobody counts how many such runs go on. */
export function plainEnds<Entry extends { result: AttemptResult; verdict: Verdict }>(
  batch: readonly Entry[],
): Entry[] {
  const tokens = new Set<number>()
  return batch.filter(({ result, verdict }) => {
    const { run, definition, error, reason, unheard } = result
    const plain =
      verdict.outcome === 'success' &&
      run.place !== null &&
      definition !== null &&
      definition.target.type !== 'http' &&
      error === null &&
      reason === null &&
      unheard !== true &&
      !tokens.has(run.token)
    if (plain) tokens.add(run.token)
    return plain
  })
}

export function plainParams(batch: readonly { result: AttemptResult }[]): PlainParams {
  return {
    holder: batch[0]?.result.run.holder ?? 0,
    places: batch.map(({ result }) => result.run.place as string),
    tokens: batch.map(({ result }) => result.run.token),
    started_ats: batch.map(({ result }) => result.startedAt),
    finished_ats: batch.map(({ result }) => result.finishedAt),
    results: batch.map(({ result }) => jsonOf(result.result)),
  }
}

export function jsonOf(result: unknown): string | null {
  return result === undefined ? null : JSON.stringify(result)
}
