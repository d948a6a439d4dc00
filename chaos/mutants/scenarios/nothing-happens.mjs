import { setTimeout as wait } from 'node:timers/promises'

/**
 * No fault at all.
 * @param {import('../stage/stage.mjs').Stage} stage
 */
export async function quickRuns(stage) {
  const { desk } = await stage.startFleet(1)
  return stage.registerTicking(desk, { jobs: 4, ticks: 3 })
}

/**
 * No fault at all, and runs that take longer than the rescuer rests.
 * @param {import('../stage/stage.mjs').Stage} stage
 */
export async function slowRuns(stage) {
  const { desk } = await stage.startFleet(1)
  stage.receiver.whenToAnswer = () => wait(2_500)
  return stage.registerTicking(desk, { jobs: 3, ticks: 2 })
}
