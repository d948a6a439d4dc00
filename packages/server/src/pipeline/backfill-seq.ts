/** The origin of runs that a backfill makes. */
export const backfillOrigin = 2

/** By which the runs of a backfill are told from those of others: its number, as far as an int holds it. */
export function backfillSeq(replay: number): number {
  return replay % 2 ** 31
}
