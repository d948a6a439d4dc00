// Clocks that are wrong. Nodes' clocks decide nothing; a step of the database's is an outage (forward) or a wait (back).
import { setTimeout as wait } from 'node:timers/promises'
import { now } from '../clock.mjs'

const hour = 3_600_000
const noShim = 'there is no C compiler for the shim that shifts clocks'

/** The wall clock of some processes is hours or years off, and jumps while they run. */
export const nodeClock = {
  name: 'node-clock',
  skip: ({ shim }) => (shim === null ? noShim : null),
  // Nobody is a victim: a wrong clock explains nothing.
  pick: ({ fleet, random }) => ({ victims: [], shifted: random.sample(fleet.members, 2) }),
  async inject({ random }, { shifted }) {
    const steps = [5 * hour, -7 * hour, hour, -hour, 87_600 * hour]
    for (let step = 0; step < 3; step++) {
      for (const member of shifted) member.clock.shift(random.pick(steps))
      await wait(random.between(500, 1_500))
    }
  },
  heal: (_context, { shifted }) => shifted.forEach((member) => member.clock.shift(0)),
}

/**
 * The database's clock is set: forward past what a tick may be late, or back a little, as somebody does who corrects it. It
 * stays so: what follows goes on from there.
 */
export const databaseClock = {
  name: 'database-clock',
  skip: ({ shim }) => (shim === null ? noShim : null),
  pick: ({ fleet, random, lateMs }) => ({
    victims: fleet.members,
    byMs: random.chance(0.5) ? lateMs + random.between(1_000, 20_000) : -random.between(500, 3_000),
  }),
  async inject({ postgres, journal }, { byMs }) {
    const clock = postgres.clock
    journal.append({ clock: 'database', from: clock.shiftMs, to: clock.shiftMs + byMs, at: now() })
    clock.shift(clock.shiftMs + byMs)
    await wait(Math.max(1_000, -byMs + 1_000))
  },
  heal: () => undefined,
}
