import { setTimeout as wait } from 'node:timers/promises'
import { presentCommand } from '../old-build.mjs'

/**
 * Two versions over one database: one process after the other is replaced by one of this build, while those that are left are of
 * an earlier commit (`--from`). The first of them migrates, and is killed twice while it does. Schedulers and workers come before
 * the first that serves the API, as the changelog asks: what that one stores an earlier build may not be able to read.
 */
export default {
  name: 'upgrade',
  isFor: ({ oldCommand }) => oldCommand !== null,
  skip: ({ oldCommand }) => (oldCommand === null ? 'it takes --from, an earlier commit to come from' : null),
  // Each is a victim from its SIGTERM on, which is written down with it.
  pick: () => ({ victims: [] }),
  async inject({ fleet, random }) {
    const [first, ...others] = [...fleet.members].sort((a, b) => a.has('api') - b.has('api'))
    first.command = presentCommand
    await first.terminate()
    for (let kill = 0; kill < 2; kill++) {
      const started = first.start().catch(() => undefined)
      await wait(random.between(300, 2_000))
      await first.kill()
      await started
    }
    await first.start()
    for (const member of others) {
      await member.terminate()
      member.command = presentCommand
      await member.start()
    }
  },
  heal: ({ fleet }) => {
    for (const member of fleet.members) member.command = presentCommand
  },
}
