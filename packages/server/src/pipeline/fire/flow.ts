/** An even flow is what came in each of so many seconds. */
const seconds = 4
/** Ticks are staged a minute ahead at most: each second in reach has a place of its own. */
const places = 128

/** How many ticks start in every second, as far as they come evenly: a crowd is none of it. */
export class Flow {
  private readonly counts = new Float64Array(places)
  /** Which second a place is of. */
  private readonly of = new Float64Array(places).fill(Number.NEGATIVE_INFINITY)

  /** A tick that starts then was staged. */
  add(startAt: number): void {
    const second = Math.floor(startAt / 1000)
    const place = second % places
    const known = this.of[place] as number
    if (known > second) return
    if (known < second) {
      this.of[place] = second
      this.counts[place] = 0
    }
    this.counts[place] = (this.counts[place] as number) + 1
  }

  /** The least that started in one of the last seconds that are over. */
  perSecond(now: number): number {
    const current = Math.floor(now / 1000)
    let least = Number.POSITIVE_INFINITY
    for (let second = current - seconds; second < current; second++) {
      const place = second % places
      least = Math.min(least, this.of[place] === second ? (this.counts[place] as number) : 0)
    }
    return least
  }
}
