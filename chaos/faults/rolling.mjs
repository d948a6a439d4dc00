/** A rolling restart of every role, one process after the other, as a deployment does it. */
export default {
  name: 'rolling',
  // Each is a victim from its SIGTERM on, which is written down with it, and not before.
  pick: () => ({ victims: [] }),
  async inject({ fleet }) {
    for (const victim of fleet.members) {
      await victim.terminate()
      await victim.start()
    }
  },
  heal: () => undefined,
}
