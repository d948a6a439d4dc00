// A task that runs until a file appears: the bench decides how long all of them are in flight.
import { existsSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'

let released

/** One look at the file for all runs of this process: the bench measures them, not their timers. */
async function appears(file) {
  while (!existsSync(file)) await wait(200)
}

export default {
  async slow({ until }) {
    released ??= appears(until)
    await released
  },
}
