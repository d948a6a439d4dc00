/** A rolling restart of every role, one process after the other, as a deployment does it. */
export default {
  name: 'rolling',
  pick: ({ fleet }) => ({ victims: fleet.members }),
  async inject(_context, { victims }) {
    for (const victim of victims) {
      await victim.terminate()
      await victim.start()
    }
  },
  heal: () => undefined,
}
