// What the network between a process and the database does: by the doors that each process has there.
import { setTimeout as wait } from 'node:timers/promises'

/** @param {string} name @param {(random: import('../random.mjs').Random, context: object) => number} lastsMs */
function door(name, mode, lastsMs, delayMs) {
  return {
    name,
    pick: ({ fleet, random }) => ({ victims: random.sample(fleet.members, random.between(1, 3)) }),
    async inject({ doors, random, ...context }, { victims }) {
      await doors.set(victims, mode, delayMs)
      await wait(lastsMs(random, context))
    },
    heal: ({ doors }, { victims }) => doors.set(victims, 'pass'),
  }
}

/** Every connection of some processes is reset; they may connect again at once. */
export const reset = door('reset', 'reset', () => 50)
/** Connections are reset, and new ones are, too. */
export const cutOff = door('cut-off', 'refuse', (random) => random.between(1_000, 4_000))
/** Half-open: nothing passes, nobody is told. What was under way arrives in the end, late. */
export const hang = door('hang', 'hang', (random, { ttlMs }) => ttlMs + random.between(500, 2_500))
/** Each packet takes a while. */
export const delay = door('delay', 'delay', (random) => random.between(2_000, 4_000), 120)
/** The database has committed, and whoever asked never hears of it. */
export const swallow = door('swallow', 'swallow', (random) => random.between(200, 800))
