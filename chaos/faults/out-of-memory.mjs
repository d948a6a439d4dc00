import { setTimeout as wait } from 'node:timers/promises'
import { now } from '../clock.mjs'

const withinMs = 30_000

/**
 * A handler takes all the memory there is, and its worker dies of that; so does the next one that tries. Whoever is told to run it
 * dies: each worker is a victim. A crash uses up an attempt, so that the run ends as a dead letter instead of killing one after the other.
 */
export default {
  name: 'out-of-memory',
  isFor: ({ jobs }) => jobs.some(({ kind }) => kind === 'hog'),
  skip: ({ jobs }) =>
    jobs.some(({ kind }) => kind === 'hog') ? null : 'there is no job for it (--mix 0, or --from)',
  pick: ({ fleet, jobs, random }) => ({
    victims: fleet.with('worker'),
    job: random.pick(jobs.filter(({ kind }) => kind === 'hog')).name,
  }),
  async inject({ fleet, jobs, client, random }, { job }) {
    const { name, id } = jobs.find((one) => one.name === job)
    const before = livesOf(fleet)
    await client.call('trigger', name, 'POST', `/${id}/trigger`, {}, random)
    // Who has died comes back: a fleet without a worker would wait.
    for (const end = now() + withinMs; now() < end && livesOf(fleet) - before < attempts; await wait(200))
      await fleet.heal()
  },
  heal: ({ fleet }) => fleet.heal(),
}

/** As many as a job of this kind has. */
const attempts = 2

function livesOf(fleet) {
  return fleet.with('worker').reduce((sum, { lives }) => sum + lives, 0)
}
