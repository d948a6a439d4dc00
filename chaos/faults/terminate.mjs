/** SIGTERM of one process: it hands over and finishes what it runs. */
export default {
  name: 'terminate',
  pick: ({ fleet, random }) => ({ victims: [random.pick(fleet.members)] }),
  async inject(_context, { victims }) {
    await Promise.all(victims.map((victim) => victim.terminate()))
  },
  heal: ({ fleet }) => fleet.heal(),
}
