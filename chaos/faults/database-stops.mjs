// The database server stops, fast (sessions are ended, a checkpoint is made) or at once (as if it had crashed: it
// recovers from its WAL), stays away for a moment and comes back.
import { setTimeout as wait } from 'node:timers/promises'
import { now } from '../clock.mjs'

function stop(name, mode) {
  return {
    name,
    pick: ({ fleet }) => ({ victims: fleet.members }),
    async inject({ postgres, random }) {
      await postgres.stop(mode)
      await wait(random.between(0, 1_500))
    },
    async heal({ postgres, journal }) {
      await postgres.start()
      journal.append({ database: 'up', at: now() })
    },
  }
}

export const fastStop = stop('database-fast', 'fast')
export const immediateStop = stop('database-immediate', 'immediate')
