// What people and targets do, with every process and the database in order.
import { setTimeout as wait } from 'node:timers/promises'

const manners = ['hang', 'trickle', 'late', '500', '429', '410', 'cut-off']

/** A host that hangs, trickles, answers after the deadline, refuses, or closes in the middle of its answer. */
export const targets = {
  name: 'targets',
  pick: ({ random }) => ({ victims: [], manner: random.pick(manners) }),
  async inject({ receiver, random }, { manner }) {
    receiver.behave(manner)
    await wait(random.between(3_000, 6_000))
  },
  heal: ({ receiver }) => receiver.behave('ok'),
}

/** Bodies that no client should send. */
export const poison = {
  name: 'poison',
  pick: () => ({ victims: [] }),
  inject: ({ client }) => client.poison(),
  heal: () => undefined,
}
