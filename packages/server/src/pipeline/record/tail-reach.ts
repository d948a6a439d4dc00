import { snapshotOf } from './tail-place.js'

/** A statement may have read the clock this long before its transaction got its number. */
const slackMs = 2_000
/** Of a transaction that was under way before anybody looked it is not known when it began. None of ours lasts longer. */
const longestMs = 60_000
const mostLooks = 1_000

/** No look at this instant reaches further back than this. */
export function earliestReach(at: number): number {
  return at - longestMs - slackMs
}

/**
 * How far back a row can lie that is not to be seen yet. A transaction that was under way at a look began after the last
 * look which did not know its number: with none under way that is this look itself.
 */
export class TailReach {
  private looks: { at: number; xmax: bigint }[] = []

  /** Notes a look; answers from which instant the next one must read. */
  note(at: number, snapshot: string): number {
    const { xmin, xmax } = snapshotOf(snapshot)
    this.looks.push({ at, xmax })
    const before = this.looks.findLastIndex((look) => look.xmax <= xmin)
    if (before > 0) this.looks.splice(0, before)
    if (this.looks.length > mostLooks) this.looks.splice(1, 1)
    const began = before < 0 ? at - longestMs : (this.looks[0]?.at ?? at)
    return Math.max(began - slackMs, earliestReach(at))
  }
}
