import type { StatsHistory } from '@carillon/contract'

export type Counts = StatsHistory['data'][number]['counts']

/** What is charted: pieces of five seconds, by where they begin (seconds since the epoch), up to where it is counted. */
export interface Pieces {
  counts: ReadonlyMap<number, Counts>
  /** Null: nothing is known yet. */
  through: number | null
}

export const noPieces: Pieces = { counts: new Map(), through: null }
export const stepSeconds = 5
export const shownMinutes = 20

/**
 * What a stream tells and what was asked for beside it, in whatever order they come. A piece that is not counted to its end
 * waits for that. Those that are no longer shown are dropped.
 */
export function withPieces(
  before: Pieces,
  { through, data }: Pick<StatsHistory, 'through' | 'data'>,
): Pieces {
  const counted = Math.floor(Date.parse(through) / 1_000 / stepSeconds) * stepSeconds
  const end = Math.max(counted, before.through ?? counted)
  const begin = end - shownMinutes * 60
  const fresh = data.map(({ at, counts }) => [Date.parse(at) / 1_000, counts] as const)
  const known = [...before.counts, ...fresh.filter(([at]) => at < counted)]
  return { counts: new Map(known.filter(([at]) => at >= begin)), through: end }
}

/** Pieces in which nothing ended are not sent: the line goes to zero there, not across. */
export function lineOf({ counts, through }: Pieces): { at: number; counts: Counts | null }[] {
  if (through === null) return []
  const count = (shownMinutes * 60) / stepSeconds
  return Array.from({ length: count }, (_, index) => {
    const at = through - (count - index) * stepSeconds
    return { at, counts: counts.get(at) ?? null }
  })
}
