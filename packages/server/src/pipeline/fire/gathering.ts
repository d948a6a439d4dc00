/** So many ticks in one statement cost it little more than one, and hold up nothing else in this process. */
const wanted = 64
const leastMs = 4
/** There is no hurry as long as ticks are staged well before their time: waiting may take so small a part of it. */
const mostShare = 1 / 10
const longestMs = 100

/**
 * How long ticks that come up to be staged are left lying, so that others come up with them: as long as it takes to get a
 * statement's worth. Few at a time would cost a statement each, many at a time would hold up the starts of runs.
 */
export class Gathering {
  private perMs = 0

  /** A pass took so many, and the one before it was so long ago. */
  passed(ticks: number, sinceMs: number): void {
    if (sinceMs <= 0 || !Number.isFinite(sinceMs)) return
    this.perMs += 0.2 * (ticks / sinceMs - this.perMs)
  }

  waitMs(aheadMs: number): number {
    const mostMs = Math.min(longestMs, aheadMs * mostShare)
    return Math.min(mostMs, Math.max(leastMs, this.perMs === 0 ? mostMs : wanted / this.perMs))
  }
}
