import { setTimeout as wait } from 'node:timers/promises'
import { now } from '../clock.mjs'

/** kill -9 of one to three processes at once. What they owned must have new owners at once, what they ran new workers. */
export default {
  name: 'kill',
  pick: ({ fleet, random }) => {
    const victims = random.sample(fleet.everybody, random.between(1, 3))
    // Somebody must be left who takes over, and who runs: without a scheduler or a worker it is an outage, which is another fault.
    const isLeft = (role) => fleet.with(role).some((member) => !victims.includes(member))
    return { victims: isLeft('scheduler') && isLeft('worker') ? victims : victims.slice(0, 1) }
  },
  async inject({ fleet, observer, journal, ttlMs }, { victims }) {
    const isOfSchedulers = fleet.with('scheduler').some((member) => victims.includes(member))
    const holdings = await observer.holdingsOf(victims.map(({ pid }) => pid))
    const at = now()
    const killed = Promise.all(victims.map((victim) => victim.kill()))
    // Without an answer nobody knows what they held: that a takeover was not seen is written down, too.
    if (holdings === null) journal.append({ takeover: null, at, partitions: null })
    else if (holdings.length === 0) {
      // A scheduler that has just lost its connections may hold nothing. Others never do: a line for each of those would make up for one that is missing.
      if (isOfSchedulers) journal.append({ takeover: null, at, partitions: 0 })
    } else {
      const { taken = null, ...parts } = (await observer.takenOver(holdings, at, ttlMs * 4)) ?? {}
      journal.append({ takeover: taken, at, partitions: holdings.length, ...parts })
    }
    await killed
  },
  async heal({ fleet, random }) {
    await wait(random.between(0, 300))
    await fleet.heal()
  },
}
