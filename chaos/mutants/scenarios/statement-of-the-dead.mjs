import { isFiring } from '../stage/statements.mjs'

/**
 * An owner is killed while its firing statement is under way, another takes over and does all there is to do; then the
 * statement of the dead arrives, under the epoch of the dead.
 * @param {import('../stage/stage.mjs').Stage} stage
 */
export async function statementOfTheDead(stage) {
  const { desk, owners } = await stage.startFleet(2)
  const victim = stage.random.pick(owners)
  const end = await stage.registerTicking(desk, { jobs: 16, ticks: 4 })
  const struck = stage.random.between(2, 3)
  await new Promise((resolve) => {
    let firings = 0
    victim.fateOf = (call) => {
      if (!isFiring(call) || ++firings !== struck) return undefined
      const killed = stage.fault('kill', victim, () => victim.kill())
      return { late: killed.then(() => stage.done(end)), done: resolve }
    }
  })
  return end
}
