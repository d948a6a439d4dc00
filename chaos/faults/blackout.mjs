import { setTimeout as wait } from 'node:timers/promises'

/** No scheduler for longer than a tick may be late: the jobs' missed-run policies decide. */
export default {
  name: 'blackout',
  pick: ({ fleet }) => ({ victims: fleet.with('scheduler') }),
  async inject({ lateMs, random }, { victims }) {
    await Promise.all(victims.map((victim) => victim.kill()))
    await wait(lateMs + random.between(1_000, 6_000))
  },
  heal: ({ fleet }) => fleet.heal(),
}
