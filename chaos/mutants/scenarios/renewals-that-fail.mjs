import { Gate } from '../stage/gate.mjs'
import { isAboutPartitions, isFiring, isHeartbeat } from '../stage/statements.mjs'

/** Partitions that have another owner since an instant, and of which a run was closed that he fired. */
const firedByTheNewOwner = `
  SELECT count(*)::int AS partitions
  FROM carillon.partitions p
  WHERE p.taken_at > $1
    AND EXISTS (SELECT FROM carillon.ledger l WHERE l.partition = p.partition AND l.epoch = p.epoch)`

/**
 * The life signs and renewals of an owner do not arrive while its other statements do; another takes its partitions and
 * fires; then that one is held up for a moment, in which the first would fire, did it not know that it has lost them.
 * @param {import('../stage/stage.mjs').Stage} stage
 */
export async function renewalsThatFail(stage) {
  const { desk, owners } = await stage.startFleet(2)
  const first = stage.random.pick(owners)
  const second = owners.find((owner) => owner !== first)
  await stage.registerTicking(desk, { jobs: 16 })
  const { now: begun } = await stage.row('SELECT carillon.now_ms() AS now')
  const [healed, firstFires, secondFires] = [new Gate(), new Gate(), new Gate()]
  await stage.fault('renewals_held', first, async () => {
    first.fateOf = (call) => {
      if (isHeartbeat(call) || isAboutPartitions(call)) return healed.opened
      return isFiring(call) ? firstFires.opened : undefined
    }
    await stage.until('the second owner fires for the first', async () => {
      const { partitions } = await stage.row(firedByTheNewOwner, [begun])
      return partitions > 0
    })
    await stage.fault('firing_held', second, async () => {
      second.fateOf = (call) => (isFiring(call) ? secondFires.opened : undefined)
      firstFires.open()
      await stage.pause(2_500)
      secondFires.open()
    })
    healed.open()
  })
  return Date.now()
}
