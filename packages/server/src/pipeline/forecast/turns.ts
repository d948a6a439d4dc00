import { AsyncResource } from 'node:async_hooks'
import { CarillonError } from '@carillon/contract'

type Work = () => Promise<void>

const retrySeconds = 5

/**
 * One piece of work at a time: several would take no less time together, and more of everything else. Tenants take turns, so
 * that one who asks for much keeps nobody waiting longer than for one piece, and none may have more than so much waiting.
 */
export class Turns {
  private readonly waiting = new Map<number, Work[]>()
  private going = false

  constructor(private readonly mostWaiting: number) {}

  async take<Result>(tenant: number, work: () => Promise<Result>): Promise<Result> {
    const own = this.waiting.get(tenant) ?? []
    if (own.length >= this.mostWaiting) throw tooMany(own.length)
    // Whoever's turn it is, the work is done on behalf of the one who asked for it.
    const bound = AsyncResource.bind(work)
    return new Promise((settle, fail) => {
      own.push(() => bound().then(settle, fail))
      this.waiting.set(tenant, own)
      if (!this.going) void this.run()
    })
  }

  private async run(): Promise<void> {
    this.going = true
    for (let next = this.next(); next !== undefined; next = this.next()) await next()
    this.going = false
  }

  /** Of the tenant that has waited longest for a turn; it goes to the end of the line. */
  private next(): Work | undefined {
    const [first] = this.waiting
    if (first === undefined) return undefined
    const [tenant, own] = first
    const work = own.shift()
    this.waiting.delete(tenant)
    if (own.length > 0) this.waiting.set(tenant, own)
    return work
  }
}

function tooMany(waiting: number): CarillonError {
  return new CarillonError('rate_limited', {
    detail: `${waiting} forecasts of this tenant wait to be computed.`,
    retryAfterSeconds: retrySeconds,
  })
}
