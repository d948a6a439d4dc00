// What goes wrong, in an order that the seed decides. One fault at a time and a settled fleet between them, so that what
// is measured after a kill is that kill; `storm` and `blackout` are the ones where several things go wrong at once.
import { setTimeout as wait } from 'node:timers/promises'

/** Name, weight, about how long it takes in seconds beyond the times of the settings. */
const faults = {
  kill: { weight: 10, make: kill },
  stop: { weight: 3, make: stop },
  term: { weight: 3, make: terminate },
  storm: { weight: 1, make: storm },
  blackout: { weight: 1, make: blackout },
  worker_kill: { weight: 1, make: killWorker },
  worker_term: { weight: 1, make: terminateWorker },
}
/** The first ones are one of each, so that a short soak has them all. */
const opening = ['kill', 'stop', 'term', 'worker_kill', 'blackout', 'kill', 'storm', 'worker_term']

export class Nemesis {
  /** @type {Record<string, number>} */
  made = {}
  /** @type {string[]} */
  story = []
  unsettled = 0

  /**
   * @param {{ fleet: import('./fleet.mjs').Fleet, takeovers: import('./takeovers.mjs').Takeovers,
   *   random: import('./random.mjs').Random, ttlMs: number, lateMs: number, calmMs: [number, number],
   *   say: (line: string) => void }} options
   */
  constructor(options) {
    Object.assign(this, options)
  }

  /** Until the time is over; a fault that has begun is finished. */
  async rage(until) {
    const queue = [...opening]
    while (Date.now() < until) {
      const name =
        queue.shift() ??
        this.random.weighted(Object.entries(faults).map(([key, { weight }]) => [weight, key]))
      this.made[name] = (this.made[name] ?? 0) + 1
      this.story.push(`${new Date().toISOString()} ${name}`)
      await faults[name].make(this)
      await this.fleet.heal()
      if (!(await this.takeovers.settled(3, 3 * this.ttlMs + 10_000))) {
        this.unsettled += 1
        this.say(`the partitions did not settle after ${name}`)
      }
      await wait(this.random.between(...this.calmMs))
    }
  }

  victim() {
    return this.random.pick(this.fleet.schedulers)
  }
}

async function kill(nemesis) {
  const victim = nemesis.victim()
  const holdings = await nemesis.takeovers.holdingsOf(victim.pid)
  const at = Date.now()
  const killed = victim.kill()
  await nemesis.takeovers.measure('kill', holdings, at, nemesis.ttlMs * 3)
  await killed
  await wait(nemesis.random.between(0, 2_000))
}

/** Asleep for longer than its leases last, and then it goes on as if nothing had been. */
async function stop(nemesis) {
  const victim = nemesis.victim()
  const holdings = await nemesis.takeovers.holdingsOf(victim.pid)
  const at = victim.freeze()
  const asleepMs = nemesis.ttlMs + nemesis.random.between(1_000, 5_000)
  await nemesis.takeovers.measure('stop', holdings, at, asleepMs)
  await wait(Math.max(0, at + asleepMs - Date.now()))
  victim.thaw()
  await wait(1_000)
}

async function terminate(nemesis) {
  const victim = nemesis.victim()
  const holdings = await nemesis.takeovers.holdingsOf(victim.pid)
  const at = Date.now()
  const ended = victim.terminate()
  await nemesis.takeovers.measure('term', holdings, at, nemesis.ttlMs * 3)
  await ended
  await wait(nemesis.random.between(0, 2_000))
}

/** One asleep, one killed meanwhile, and the last one has it all. */
async function storm(nemesis) {
  const [asleep, killed] = nemesis.random.chance(0.5)
    ? nemesis.fleet.schedulers
    : [...nemesis.fleet.schedulers].reverse()
  const at = asleep.freeze()
  await wait(nemesis.random.between(100, 2_000))
  await killed.kill()
  await wait(Math.max(0, at + nemesis.ttlMs + nemesis.random.between(500, 3_000) - Date.now()))
  // It wakes while the other comes back: both want partitions at the same moment.
  const back = killed.start()
  asleep.thaw()
  await back
}

/** Nobody fires for longer than a tick may be late: the missed-run policies decide. */
async function blackout(nemesis) {
  await Promise.all(nemesis.fleet.schedulers.map((scheduler) => scheduler.kill()))
  await wait(nemesis.lateMs + nemesis.random.between(2_000, 12_000))
}

async function killWorker(nemesis) {
  await nemesis.fleet.worker.kill()
  await wait(nemesis.random.between(0, 1_000))
}

async function terminateWorker(nemesis) {
  await nemesis.fleet.worker.terminate()
}
