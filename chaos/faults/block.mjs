import { setTimeout as wait } from 'node:timers/promises'

/** The event loop of a process stands still for longer than its lease (chaos/preload.mjs, on SIGUSR2). */
export default {
  name: 'block',
  pick: ({ fleet, random }) => ({ victims: [random.pick(fleet.members)] }),
  async inject({ blockMs }, { victims }) {
    for (const victim of victims) victim.child?.kill('SIGUSR2')
    await wait(blockMs)
  },
  heal: () => wait(300),
}
