import type { LeasedRun } from '../../src/pipeline/run.js'
import { epoch } from './clock.js'
import type { Commit } from './store.js'

/** What counts as an effect: life signs and renewals change nothing but times. */
const unnoticed = new Set(['heartbeat', 'renew-partitions', 'rescued'])

/**
 * The order in which things took effect: who fired, leased, started, gave back, closed and rescued which run, who took which
 * partition, who was declared dead. Without times: two histories that differ only in them are one interleaving.
 */
export class Interleaving {
  private high = 0x811c9dc5
  private low = 0x9e3779b9
  /** How many, by the statement that made them. */
  readonly effects = new Map<string, number>()

  constructor(private readonly tell?: ((line: string) => void) | undefined) {}

  committed({ statement, sender, writes, noted }: Commit): void {
    if (unnoticed.has(statement)) return
    let effect = `${sender} ${statement}`
    for (const { table, key, after } of writes) {
      const name =
        table === 'queue' || table === 'letters' ? key.toString().replace(`${epoch}`.slice(0, 5), '') : key
      effect += ` ${table}:${name}${after === null ? '-' : ''}`
    }
    for (const { outcome, attempt } of noted) effect += ` ${outcome}${attempt}`
    this.add(statement, effect)
  }

  started(process: string, { job, due, attempt }: LeasedRun): void {
    this.add('start', `${process} starts ${job}/${due - epoch} ${attempt}`)
  }

  /** 53 bits of it. */
  get hash(): number {
    return (this.high >>> 0) * 2 ** 21 + ((this.low >>> 0) & 0x1fffff)
  }

  private add(kind: string, effect: string): void {
    this.effects.set(kind, (this.effects.get(kind) ?? 0) + 1)
    this.tell?.(`    ${effect}`)
    let { high, low } = this
    for (let at = 0; at < effect.length; at++) {
      const code = effect.charCodeAt(at)
      high = Math.imul(high ^ code, 0x01000193)
      low = Math.imul(low ^ code, 0x85ebca6b) + high
    }
    this.high = high
    this.low = low
  }
}
