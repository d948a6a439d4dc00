import { Gate } from '../stage/gate.mjs'

/**
 * A worker has runs under way; a second one comes up on the same machine and is stopped again, as a deploy does it.
 * @param {import('../stage/stage.mjs').Stage} stage
 */
export async function goodbyeOfANamesake(stage) {
  const [desk] = await Promise.all([
    stage.start('desk', ['api', 'scheduler']),
    stage.start('worker-1', ['worker']),
  ])
  await stage.shared(1)
  const jobs = stage.random.between(3, 5)
  const answered = new Gate()
  stage.receiver.whenToAnswer = () => answered.opened
  const end = await stage.registerTicking(desk, { jobs, ticks: 1 })
  const deliveries = () => stage.receiver.deliveries.length
  await stage.until('all runs were delivered', () => deliveries() === jobs)
  const second = await stage.start('worker-2', ['worker'])
  await stage.fault('terminate', second, () => second.terminate())
  // Long enough for whoever would take runs back to do so: that is tried every second.
  await stage.within(3_000, () => deliveries() > jobs)
  answered.open()
  return end
}
