import { isFiring } from '../stage/statements.mjs'

/**
 * A firing statement whose sender was cut off arrives when the sender has fired the same ticks again. The same owner, the same
 * epoch: only the cursor and the key of the queue are left to say that it comes too late. The first run is still in the queue.
 * @param {import('../stage/stage.mjs').Stage} stage
 */
export async function lateStatement(stage) {
  const { desk, owners } = await stage.startFleet(1)
  const [owner] = owners
  const end = await stage.registerTicking(desk, { jobs: 4, ticks: 5 })
  const struck = stage.random.between(2, 3)
  const made = async () => {
    const { runs } = await stage.row(
      'SELECT (SELECT count(*) FROM carillon.queue) + (SELECT count(*) FROM carillon.ledger) AS runs',
    )
    return runs
  }
  const refired = async () => {
    const before = await made()
    await stage.until('the ticks were fired again', async () => (await made()) > before)
  }
  await new Promise((resolve) => {
    let firings = 0
    owner.fateOf = (call) => {
      if (!isFiring(call) || ++firings !== struck) return undefined
      return { late: stage.fault('late_statement', owner, refired), done: resolve }
    }
  })
  return end
}
