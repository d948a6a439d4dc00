import { setTimeout as wait } from 'node:timers/promises'

/** SIGSTOP for longer than leases last, then it goes on as if nothing had been: what it writes then must be refused. */
export default {
  name: 'freeze',
  pick: ({ fleet, random }) => ({ victims: [random.pick(fleet.everybody)] }),
  async inject({ runLeaseMs, random }, { victims }) {
    for (const victim of victims) victim.freeze()
    await wait(runLeaseMs + random.between(500, 2_500))
  },
  async heal(_context, { victims }) {
    for (const victim of victims) victim.thaw()
    await wait(500)
  },
}
