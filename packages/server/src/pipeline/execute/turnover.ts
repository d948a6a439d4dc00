/** A figure older than this says nothing any more. */
const windowMs = 100

/** How fast places become free. */
export class Turnover {
  private count = 0
  private since: number | null = null
  private perMs = 0

  freed(): void {
    this.count += 1
  }

  /** So many places will probably be free within this time. */
  within(ms: number, now: number): number {
    this.since ??= now
    const sinceMs = now - this.since
    if (sinceMs >= windowMs) {
      // After a long silence what was counted may have come at any time of it.
      this.perMs = this.count / sinceMs
      this.count = 0
      this.since = now
    }
    return Math.max(this.perMs, this.count / windowMs) * ms
  }
}
