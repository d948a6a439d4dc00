import { isFiring } from '../stage/statements.mjs'

/**
 * An owner is killed when its firing statement is committed and before it hears of that.
 * @param {import('../stage/stage.mjs').Stage} stage
 */
export async function unheardAnswer(stage) {
  const { desk, owners } = await stage.startFleet(2)
  const victim = stage.random.pick(owners)
  const end = await stage.registerTicking(desk, { jobs: 16, ticks: 4 })
  const struck = stage.random.between(2, 3)
  await new Promise((resolve) => {
    let firings = 0
    victim.fateOf = (call) => {
      if (!isFiring(call) || ++firings !== struck) return undefined
      return { answered: () => stage.fault('kill', victim, () => victim.kill()).then(resolve) }
    }
  })
  return end
}
