// What goes wrong, in an order that the seed decides: one fault at a time and a settled fleet between them, so that what is
// measured after a kill is that kill. Everything is written down before it is done.
import { setTimeout as wait } from 'node:timers/promises'
import { now } from './clock.mjs'
import { faults } from './faults/index.mjs'

/** So many kills come before each other fault. */
const killsBetween = 2
/** A run that is behind with what was asked for goes on for so much of its time. */
const mostOvertime = 1.2

export class Nemesis {
  /** @type {Record<string, number>} */
  made = {}
  /** @type {Record<string, string>} */
  skipped = {}
  /** Processes that were killed, restarts of the database: as many as the ledger of the nemesis has. */
  killed = 0
  restarts = 0
  #number = 0

  /** @param {object} context what faults are given; see faults/index.mjs @param {string[] | null} only names of faults */
  constructor(context, only) {
    this.context = context
    for (const name of only ?? []) if (!faults.has(name)) throw new Error(`There is no fault "${name}".`)
    const isWanted = ({ name, isFor }) => only?.includes(name) ?? isFor?.(context) ?? true
    const wanted = [...faults.values()].filter(isWanted)
    this.faults = wanted.filter((fault) => {
      const reason = fault.skip?.(context) ?? null
      if (reason !== null) this.#skip(fault.name, reason)
      return reason === null
    })
    if (this.faults.length === 0) throw new Error('No fault is left to make.')
  }

  #skip(name, reason) {
    this.skipped[name] = reason
    this.context.say(`SKIPPED: the fault ${name} cannot be made here: ${reason}`)
    if (process.env.CARILLON_REQUIRE_ALL === '1')
      throw new Error(`${name}: ${reason}, and everything is required`)
  }

  /**
   * Until the time is over and there were as many kills and restarts as were asked for; a fault that has begun is finished. Where
   * that is more than can be had the run ends without them, and the checker says so.
   * @param {number} until
   */
  async rage(until) {
    const begun = now()
    const lastsMs = until - begun
    const upgrade = this.faults.find(({ name }) => name === 'upgrade')
    if (upgrade !== undefined) await this.make(upgrade)
    for (const name of this.#order()) {
      for (let behind = this.#behind(begun, lastsMs); behind !== null; behind = this.#behind(begun, lastsMs))
        await this.make(behind)
      if (now() >= until) return
      await this.make(faults.get(name))
    }
  }

  /** A fault of a kind of which there were too few so far, by the time that has passed; null where there were enough. */
  #behind(begun, lastsMs) {
    const { leastKills, leastRestarts, random } = this.context
    const passed = (now() - begun) / lastsMs
    if (passed > mostOvertime) return null
    const share = Math.min(1, passed)
    const one = (...names) => {
      const wanted = this.faults.filter(({ name }) => names.includes(name))
      return wanted.length === 0 ? null : random.pick(wanted)
    }
    if (this.restarts < share * leastRestarts) return one('database-fast', 'database-immediate')
    if (this.killed < share * leastKills) return one('kill')
    return null
  }

  /** Each fault once, in an order of the seed. */
  async rageOnce() {
    for (const fault of this.context.random.sample(this.faults, this.faults.length)) await this.make(fault)
  }

  /** First each fault once, in an order of the seed, then by weight; with kills between all others. */
  *#order() {
    const { random } = this.context
    const others = this.faults.filter(({ weight }) => weight > 0)
    const hasKill = this.faults.some(({ name }) => name === 'kill')
    // An upgrade alone is over when it is made.
    if (!hasKill && others.length === 0) return
    const opening = random.sample(others, others.length)
    for (;;) {
      const kills = others.length === 0 || opening.length > 0 ? 1 : killsBetween
      if (hasKill) for (let kill = 0; kill < kills; kill++) yield 'kill'
      if (others.length > 0)
        yield (opening.shift() ?? random.weighted(others.map((fault) => [fault.weight, fault]))).name
    }
  }

  async make(fault) {
    const { context } = this
    const { journal, postgres } = context
    const restartsBefore = postgres.restarts
    const number = (this.#number += 1)
    const state = fault.pick(context)
    const { victims: struck, ...more } = state
    // A worker over HTTP hangs on whoever answers it.
    const remotes = struck.some((victim) => victim.has('api')) ? context.fleet.remotes : []
    const victims = [...new Set([...struck, ...remotes])]
    const known = Object.fromEntries(Object.entries(more).filter(([, value]) => typeof value !== 'object'))
    journal.append({
      fault: fault.name,
      number,
      seed: context.seed,
      at: now(),
      victims: victims.map(({ name, pid }) => ({ name, pid })),
      ...known,
    })
    await journal.sync()
    context.say(
      `${fault.name} ${struck.length === context.fleet.members.length ? 'all' : struck.map(({ name }) => name).join(', ')} ${JSON.stringify(known)}`,
    )
    try {
      await fault.inject(context, state)
    } finally {
      await fault.heal(context, state)
    }
    journal.append({ lifted: number, at: now() })
    await context.fleet.heal()
    if (fault.name === 'kill') this.killed += struck.length
    this.restarts += postgres.restarts - restartsBefore
    this.made[fault.name] = (this.made[fault.name] ?? 0) + 1
    const settled = await context.observer.settled(context.schedulers, 3 * context.ttlMs + 15_000)
    if (!settled) context.say(`the partitions did not settle after ${fault.name}`)
    journal.append({ healed: number, at: now(), settled })
    await journal.sync()
    await wait(context.random.between(...context.calmMs))
  }
}
