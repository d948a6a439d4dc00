import { expect, test } from 'vitest'
import { seedsOf } from '../kit/seeds.js'
import { faultsInAccount, faultsOf } from '../kit/invariants.js'
import { Simulation } from '../kit/simulation.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

/** The epochs of the partitions and the cursors of the jobs: neither ever goes back. */
async function heights(): Promise<Map<string, number>> {
  const rows = await house().query<{ name: string; height: number }>(
    `SELECT 'epoch of partition ' || partition AS name, epoch AS height FROM carillon.partitions
     UNION ALL
     SELECT 'cursor of job ' || t.job, t.accounted_through
     FROM carillon.timers t JOIN carillon.jobs j ON j.job = t.job
     -- A delete steps back over what was staged and never owed.
     WHERE j.state <> 'deleted'`,
  )
  return new Map(rows.map(({ name, height }) => [name, height]))
}

let caughtUp = 0

test.each(seedsOf(1, 2, 3, 4))(
  'every tick is accounted for once, whatever happens to the fleet (seed %i)',
  async (seed) => {
    const simulation = new Simulation(house(), seed)
    const { faults } = simulation
    await simulation.begin(3, 8)
    let before = await heights()
    for (let step = 0; step < 250; step++) {
      await simulation.step()
      const after = await heights()
      for (const [name, height] of before) {
        if ((after.get(name) ?? height) < height) faults.push(`the ${name} went back at step ${step}`)
      }
      before = after
      if (step % 10 !== 0) continue
      for (const job of simulation.jobs) faults.push(...(await faultsInAccount(house(), job)))
    }
    const end = await simulation.drain()
    for (const job of simulation.jobs) faults.push(...(await faultsOf(house(), job, end)))
    expect(faults, `seed ${seed}: ${simulation.story.join(', ')}`).toEqual([])
    // It means something only if much happened.
    expect(simulation.deliveries).toBeGreaterThan(5)
    caughtUp += simulation.caughtUp
    const left = await house().query(
      `SELECT incarnation FROM carillon.incarnations WHERE state <> 'alive' AND rescued_at IS NULL`,
    )
    expect(left).toEqual([])
  },
  // Hundreds of steps, each over the database: on a busy machine they take their time.
  180_000,
)

/** Which seed it is hangs on the instant at which the test begins: the schedules follow the real calendar. */
test('missed ticks were caught up among all that', () => {
  expect(caughtUp).toBeGreaterThan(0)
})
