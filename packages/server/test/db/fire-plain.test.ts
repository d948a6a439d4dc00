import { describe, expect, test } from 'vitest'
import { Gate } from '../kit/gate.js'
import {
  firePlainly,
  lockTimeoutsOf,
  type PlainParams,
  plainly,
  stepMs,
  waitsOrEnds,
} from '../kit/plain-fire.js'
import { countOf, putRuns, queueOf, timerOf } from '../kit/rows.js'
import type { TestNode } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

const tenSeconds = { schedule: '@every 10s' } as const

async function due() {
  const node = await house().node()
  const job = await node.register(tenSeconds)
  return { node, job, timer: await timerOf(house(), job) }
}

function fire(node: TestNode, jobs: readonly { key: number }[], change: Partial<PlainParams> = {}) {
  return plainly(house(), node, jobs, change).then((params) => firePlainly(node, params))
}

test('a tick becomes a run in the first place, and the cursor stands at the next', async () => {
  const { node, job, timer } = await due()
  const answer = await fire(node, [job])
  expect(answer).toMatchObject({ jobs: [job.key], moved: [job.key], tokens: [null] })
  expect(await queueOf(house(), job)).toMatchObject([
    { due: timer.due, next_due: (timer.due ?? 0) + stepMs, slot: 0, places: 1, holder: null, token: null },
  ])
  expect(await timerOf(house(), job)).toEqual({
    ...timer,
    due: (timer.due ?? 0) + stepMs,
    start_at: (timer.due ?? 0) + stepMs,
    accounted_through: timer.due,
    runs: timer.runs + 1,
  })
})

test('the answer says where the run and the timer lie now', async () => {
  const { node, job } = await due()
  const other = await node.register(tenSeconds)
  const answer = await fire(node, [job, other])
  const lying = (table: 'queue' | 'timers') =>
    house()
      .query<{ job: number; place: string }>(
        table === 'queue'
          ? 'SELECT job, ctid::text AS place FROM carillon.queue ORDER BY job'
          : 'SELECT job, ctid::text AS place FROM carillon.timers ORDER BY job',
      )
      .then((rows) => rows.map(({ job, place }) => [job, place]))
  const pairs = (jobs: number[], places: string[]) =>
    jobs.map((job, at) => [job, places[at]]).sort(([a], [b]) => Number(a) - Number(b))
  expect(pairs(answer.jobs, answer.run_places)).toEqual(await lying('queue'))
  expect(pairs(answer.moved, answer.timer_places)).toEqual(await lying('timers'))
})

describe('nothing is fired and nothing moves', () => {
  const other = (values: number[]) => values.map((value) => value + 1)
  test.each<[string, (params: PlainParams) => Partial<PlainParams>]>([
    ['under another epoch of its partitions', ({ epochs }) => ({ epochs: other(epochs) })],
    ['under another epoch of the tick', ({ job_epochs: epochs }) => ({ job_epochs: other(epochs) })],
    [
      'under an old epoch',
      ({ epochs, job_epochs }) => ({
        epochs: epochs.map((epoch) => epoch - 1),
        job_epochs: job_epochs.map((epoch) => epoch - 1),
      }),
    ],
    ['by another process', ({ owner }) => ({ owner: owner + 1 })],
    ['where the partition is not named', () => ({ partitions: [], epochs: [] })],
    ['with another rev', ({ revs }) => ({ revs: other(revs) })],
    ['at another due', ({ dues }) => ({ dues: other(dues) })],
    ['where the timer does not lie any more', () => ({ timer_places: ['(9999,1)'] })],
  ])('%s', async (_name, change) => {
    const { node, job, timer } = await due()
    const params = await plainly(house(), node, [job])
    expect(await firePlainly(node, { ...params, ...change(params) })).toMatchObject({ jobs: [], moved: [] })
    expect(await timerOf(house(), job)).toEqual(timer)
    expect(await countOf(house(), 'queue')).toBe(0)
  })

  test('where the timer of another job lies', async () => {
    const { node, job, timer } = await due()
    const stranger = await node.register(tenSeconds)
    const params = await plainly(house(), node, [stranger])
    const { due: instant, rev } = await timerOf(house(), stranger)
    // All but the job is as it is there.
    const answer = await firePlainly(node, { ...params, jobs: [job.key], dues: [instant ?? 0], revs: [rev] })
    expect(answer).toMatchObject({ jobs: [], moved: [] })
    expect(await timerOf(house(), job)).toEqual(timer)
    expect(await timerOf(house(), stranger)).toMatchObject({ due: instant, runs: 0 })
    expect(await countOf(house(), 'queue')).toBe(0)
  })

  test('in another partition that is held', async () => {
    const { node, job, timer } = await due()
    const params = await plainly(house(), node, [job])
    const partition = (timer.partition + 1) % 256
    const epoch = params.epochs[params.partitions.indexOf(partition)] ?? 0
    const answer = await firePlainly(node, { ...params, job_partitions: [partition], job_epochs: [epoch] })
    expect(answer).toMatchObject({ jobs: [], moved: [] })
    expect(await timerOf(house(), job)).toEqual(timer)
  })

  test('while the job has a run in the queue, wherever that stands; beside it others are fired', async () => {
    const { node, job, timer } = await due()
    const free = await node.register(tenSeconds)
    await putRuns(house(), job)
    expect(await fire(node, [job, free])).toMatchObject({ jobs: [free.key], moved: [free.key] })
    expect(await timerOf(house(), job)).toEqual(timer)
    expect(await queueOf(house(), job)).toHaveLength(1)
  })
})

test('beside a run in the queue a job that allows any number of them is fired', async () => {
  const { node, job } = await due()
  await putRuns(house(), job)
  expect(await fire(node, [job], { places: [null] })).toMatchObject({ jobs: [job.key] })
  expect((await queueOf(house(), job)).map(({ slot, places }) => [slot, places])).toEqual([
    [null, null],
    [null, null],
  ])
})

test('a run that somebody has put in and not committed fails the statement: nothing moves', async () => {
  const { node, job, timer } = await due()
  const free = await node.register(tenSeconds)
  const trigger = await house().session()
  await trigger.query('BEGIN')
  await trigger.query(
    `INSERT INTO carillon.queue (due, job, tenant, route, version, epoch, slot, places, max_attempts, available_at, fired_at,
                                 partition, origin, seq)
     SELECT 1, job, tenant, route, version, 1, 0, 1, 1, 1, 1, partition, 1, 1 FROM carillon.jobs WHERE job = $1`,
    [job.key],
  )
  const firing = fire(node, [job, free]).then(
    () => 'fired',
    (error: { code?: string }) => error.code,
  )
  await waitsOrEnds(house(), 1, firing)
  await trigger.query('COMMIT')
  // By the index, or by the end of the wait where this machine took longer than that.
  expect(['23505', '55P03']).toContain(await firing)
  expect(await timerOf(house(), job)).toEqual(timer)
  expect(await queueOf(house(), job)).toMatchObject([{ due: 1 }])
  expect(await queueOf(house(), free)).toEqual([])
})

test('a timer that somebody holds is waited for no longer than a moment, and then nothing has moved', async () => {
  const { node, job, timer } = await due()
  const editor = await house().session()
  await editor.query('BEGIN')
  await editor.query('SELECT FROM carillon.timers WHERE job = $1 FOR UPDATE', [job.key])
  await expect(fire(node, [job])).rejects.toMatchObject({ code: '55P03' })
  await editor.query('ROLLBACK')
  expect(await timerOf(house(), job)).toEqual(timer)
  // The bound is the statement's own, and not that of the connection afterwards.
  await fire(node, [job])
  expect(await lockTimeoutsOf(node)).toEqual(['0'])
})

test('a change of epoch waits for the fire in progress', async () => {
  const { node, job } = await due()
  const gate = await Gate.closeBefore(house(), 'INSERT', 'queue')
  const firing = fire(node, [job])
  await house().lockWaits(1)
  const taker = await house().session()
  const taken = taker.query('UPDATE carillon.partitions SET epoch = epoch + 1')
  await house().lockWaits(2)
  await gate.open()
  expect(await firing).toMatchObject({ jobs: [job.key] })
  await taken
})

test('an edit that commits while its timer is waited for is seen: nothing is fired', async () => {
  const { node, job } = await due()
  const params = await plainly(house(), node, [job])
  const gate = await Gate.closeBefore(house(), 'UPDATE', 'timers')
  // It waits in the gate with its change made: whoever comes next waits for the row.
  const editor = await house().session()
  const edit = editor.query('UPDATE carillon.timers SET rev = rev + 1 WHERE job = $1', [job.key])
  await house().lockWaits(1)
  const firing = firePlainly(node, params).then(
    ({ jobs }) => jobs,
    (error: { code?: string }) => error.code,
  )
  await waitsOrEnds(house(), 2, firing)
  await gate.open()
  await edit
  expect([[], '55P03']).toContainEqual(await firing)
  expect(await countOf(house(), 'queue')).toBe(0)
  expect(await timerOf(house(), job)).toMatchObject({ rev: 2, runs: 0 })
})
