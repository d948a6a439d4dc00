import type { Clock } from '../../platform/clock.js'

/** How long a look counts for the one that asked. */
const freshMs = 1_000

/**
 * Handlers ask whether their runs are still theirs, as often as they like: each is looked after once a second at most, and
 * those that ask while a look is under way share the next one.
 */
export class Confirmations<Entry extends object> {
  private readonly confirmedAt = new WeakMap<Entry, number>()
  private asking = new Set<Entry>()
  private next: Promise<void> | null = null
  private underWay: Promise<void> = Promise.resolve()

  constructor(
    private readonly clock: Clock,
    /** Never rejects. */
    private readonly look: (entries: readonly Entry[]) => Promise<void>,
  ) {}

  ask(entry: Entry): Promise<void> {
    const confirmedAt = this.confirmedAt.get(entry) ?? Number.NEGATIVE_INFINITY
    if (this.clock.monotonic() - confirmedAt < freshMs) return Promise.resolve()
    this.asking.add(entry)
    this.next ??= this.underWay.then(() => this.lookAtAll())
    return this.next
  }

  private lookAtAll(): Promise<void> {
    const entries = [...this.asking]
    this.asking = new Set()
    this.next = null
    const sentAt = this.clock.monotonic()
    this.underWay = this.look(entries).then(() => {
      for (const entry of entries) this.confirmedAt.set(entry, sentAt)
    })
    return this.underWay
  }
}
