import { Gate } from '../stage/gate.mjs'
import { isHeartbeat } from '../stage/statements.mjs'

/**
 * The life signs of a worker do not arrive; its run is given to another; then it has its result after all, while the other
 * is still at it.
 * @param {import('../stage/stage.mjs').Stage} stage
 */
export async function lateResult(stage) {
  const [desk, first] = await Promise.all([
    stage.start('desk', ['api', 'scheduler']),
    stage.start('worker-1', ['worker']),
  ])
  await stage.shared(1)
  const answers = [new Gate(), new Gate()]
  stage.receiver.whenToAnswer = ({ attempt }) => answers[attempt - 1]?.opened
  const end = await stage.registerTicking(desk, { jobs: 1, ticks: 1 })
  const delivered = (times) =>
    stage.until('it was delivered', () => stage.receiver.deliveries.length >= times)
  const written = async () => {
    const { rows } = await stage.row('SELECT count(*)::int AS rows FROM carillon.ledger')
    return rows
  }
  await delivered(1)
  await stage.fault('heartbeats_held', first, async () => {
    const healed = new Gate()
    first.fateOf = (call) => (isHeartbeat(call) ? healed.opened : undefined)
    await stage.start('worker-2', ['worker'])
    await delivered(2)
    // The attempt that was lost has its row by now. Whoever answers next adds another, whatever it says.
    answers[0].open()
    await stage.until('the late result was written', async () => (await written()) >= 2)
    answers[1].open()
    await stage.within(2_000, async () => (await written()) >= 3)
    healed.open()
  })
  return end
}
