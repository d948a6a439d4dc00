import type { JobInput } from '@carillon/contract'
import { describe, expect, test } from 'vitest'
import { iso, stage, type TestJob } from '../kit/changes.js'
import { crowd } from '../kit/crowd.js'
import { meddle, meddleWith } from '../kit/meddle.js'
import { sentBy, waitsOrEnds } from '../kit/plain-fire.js'
import { countOf, ledgerOf, queueOf, timerOf } from '../kit/rows.js'
import type { TestNode } from '../kit/test-house.js'
import { until } from '../kit/until.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

const tenSeconds = { schedule: '@every 10s' } as const
const first = (job: TestJob) => Date.parse(job.next_run_at ?? '')
const dues = async (job: TestJob) => (await queueOf(house(), job)).map(({ due }) => due)

/** Runs end: their places are free for the next ticks. */
const allDone = () => house().query('DELETE FROM carillon.queue')

/** A job whose first tick was fired by the short way and has ended: where its timer lies is known. */
async function known(node: TestNode, input: Partial<JobInput> = {}): Promise<TestJob> {
  const job = await node.register({ ...tenSeconds, ...input })
  await stage(house(), node, 10_000)
  expect(await dues(job)).toEqual([first(job)])
  await allDone()
  return job
}

test.each<[string, Partial<JobInput>]>([
  ['one run at a time', {}],
  ['runs that wait for each other', { overlap_policy: 'QUEUE' }],
  ['any number of runs', { overlap_policy: 'ALLOW' }],
  ['three runs at once, tried again twice', { overlap_policy: 'ALLOW', max_concurrent: 3, max_retries: 2 }],
  ['a window to spread its runs in', { fire_window_seconds: 8 }],
])('of a job with %s both ways make the same run and leave the same cursor', async (_name, input) => {
  const node = await house().node({ handsOver: true, leaseAheadMs: 0 })
  const [short, long] = [
    await node.register({ ...tenSeconds, ...input }),
    await node.register({ ...tenSeconds, ...input }),
  ]
  // Its own start: windows spread by the job's id.
  await house().query('UPDATE carillon.timers SET start_at = due WHERE job = ANY ($1)', [
    [short.key, long.key],
  ])
  meddleWith(node.database, 'fire-plain', async (send) => {
    await house().query('UPDATE carillon.timers SET runs = runs WHERE job = $1', [long.key])
    return send()
  })
  const sent = sentBy(node)
  await stage(house(), node, 8_500)
  expect(sent.filter((name) => name.startsWith('fire'))).toEqual(['fire-plain', 'fire'])
  const rows = await house().query<Record<string, unknown>>(
    'SELECT q.*, t.due AS at, t.accounted_through, t.runs, t.rev FROM carillon.queue q JOIN carillon.timers t USING (job) ORDER BY job',
  )
  const own = ['job', 'partition', 'epoch', 'token']
  const [one, other] = rows.map((row) => Object.entries(row).filter(([column]) => !own.includes(column)))
  expect(one).toBeDefined()
  expect(one).toEqual(other)
  expect(rows.map(({ holder }) => holder)).toEqual([node.membership.incarnation, node.membership.incarnation])
})

test('the next tick is fired from where the timer was left, and no timer is read', async () => {
  const node = await house().node()
  const job = await known(node)
  const sent = sentBy(node)
  for (let tick = 1; tick <= 3; tick++) {
    await stage(house(), node, 10_000)
    expect(await dues(job)).toEqual([first(job) + tick * 10_000])
    await allDone()
  }
  expect(sent.filter((name) => name.startsWith('fire'))).toEqual(['fire-plain', 'fire-plain', 'fire-plain'])
  expect(sent).not.toContain('read-timers')
})

describe('a timer that somebody has changed since loses no tick', () => {
  test('where it only lies elsewhere', async () => {
    const node = await house().node()
    const job = await known(node)
    await house().query('UPDATE carillon.timers SET runs = runs')
    await stage(house(), node, 10_000)
    expect(await dues(job)).toEqual([first(job) + 10_000])
  })

  test('where the job was edited', async () => {
    const node = await house().node()
    const job = await known(node)
    await node.registry.edit(1, job.job_id, { max_retries: 7 })
    const { due } = await timerOf(house(), job)
    await stage(house(), node, 10_000)
    expect(await queueOf(house(), job)).toMatchObject([{ due, version: 2, max_attempts: 8 }])
  })

  test('where the job was paused and resumed', async () => {
    const node = await house().node()
    const job = await known(node)
    await node.registry.pause(1, job.job_id, {})
    await node.registry.resume(1, job.job_id)
    const { due } = await timerOf(house(), job)
    await stage(house(), node, 10_000)
    expect(await dues(job)).toEqual([due])
  })

  test('where its tick was skipped: that one is on record, and the one after it runs', async () => {
    const node = await house().node()
    const job = await known(node)
    const skipped = first(job) + 10_000
    await node.ticks.skip(1, job.job_id, { at: iso(skipped) })
    await stage(house(), node, 10_000)
    expect(await dues(job)).toEqual([])
    await stage(house(), node, 10_000)
    expect(await dues(job)).toEqual([skipped + 10_000])
    expect(await ledgerOf(house(), job)).toMatchObject([{ due: skipped, reason: 'skipped_by_request' }])
  })

  test('where the timer of another job has taken its place', async () => {
    // Without what other tests left behind: the first free places are those that are left here.
    await house().query('TRUNCATE carillon.timers')
    const node = await house().node()
    const job = await known(node)
    const lies = async (key: number) =>
      (
        await house().query<{ place: string }>(
          'SELECT ctid::text AS place FROM carillon.timers WHERE job = $1',
          [key],
        )
      )[0]?.place
    /** An indexed column is changed and changed back: what lay there before is nothing to any index. */
    const move = async (key: number) => {
      await house().query('UPDATE carillon.timers SET start_at = start_at + 1 WHERE job = $1', [key])
      await house().query('UPDATE carillon.timers SET start_at = start_at - 1 WHERE job = $1', [key])
    }
    const place = await lies(job.key)
    const other = await node.register(tenSeconds)
    await move(job.key)
    // Vacuum leaves alone what anybody may still see: nobody says when the place is free.
    await until('the place is taken', async () => {
      await house().query('VACUUM carillon.timers')
      await move(other.key)
      return (await lies(other.key)) === place
    })
    await stage(house(), node, 10_000)
    expect(await dues(job)).toEqual([first(job) + 10_000])
    expect(await dues(other)).toEqual([first(other)])
  })
})

describe('a timer that somebody holds', () => {
  async function held() {
    const node = await house().node()
    const [job, free] = [await known(node), await node.register(tenSeconds)]
    await stage(house(), node, 1_000)
    await allDone()
    const editor = await house().session()
    await editor.query('BEGIN')
    await editor.query('SELECT FROM carillon.timers WHERE job = $1 FOR UPDATE', [job.key])
    await stage(house(), node, 9_000)
    return { node, job, free, editor }
  }

  test('holds up no other, and is fired when it is free', async () => {
    const { node, job, free, editor } = await held()
    expect(await dues(job)).toEqual([])
    expect(await dues(free)).toEqual([first(free)])
    await editor.query('ROLLBACK')
    await stage(house(), node, 50)
    expect(await dues(job)).toEqual([first(job) + 10_000])
  })

  test('is not waited for again as long as that lasts', async () => {
    const { node, job, editor } = await held()
    const sent = sentBy(node)
    for (let look = 0; look < 3; look++) await stage(house(), node, 50)
    expect(sent.filter((name) => name.startsWith('fire'))).toEqual(['fire', 'fire', 'fire'])
    await editor.query('ROLLBACK')
    await stage(house(), node, 50)
    expect(await dues(job)).toEqual([first(job) + 10_000])
    await allDone()
    sent.length = 0
    await stage(house(), node, 10_000)
    expect(new Set(sent.filter((name) => name.startsWith('fire')))).toEqual(new Set(['fire-plain']))
  })
})

describe('a trigger in the same moment', () => {
  /** The owner fires while the trigger has put its run into the first place, and not committed. */
  async function during(end: 'COMMIT' | 'ROLLBACK') {
    const node = await house().node()
    const job = await node.register(tenSeconds)
    await house().clock.advance(10_000)
    await node.beat()
    const trigger = await house().session()
    await trigger.query('BEGIN')
    await trigger.query(
      `INSERT INTO carillon.queue (due, job, tenant, route, version, epoch, slot, places, max_attempts, available_at,
                                   fired_at, partition, origin, seq)
       SELECT $2::bigint, job, tenant, route, version, 1, 0, 1, 1, $2, $2, partition, 1, 1 FROM carillon.jobs WHERE job = $1`,
      [job.key, first(job) - 1],
    )
    const firing = node.firing.runOnce()
    await waitsOrEnds(house(), 1, firing)
    await trigger.query(end)
    await firing
    return job
  }

  test('that takes effect has the place: the tick is noted, once', async () => {
    const job = await during('COMMIT')
    expect(await dues(job)).toEqual([first(job) - 1])
    expect(await ledgerOf(house(), job)).toMatchObject([{ due: first(job), reason: 'overlap', final: true }])
    expect(await timerOf(house(), job)).toMatchObject({ due: first(job) + 10_000, runs: 0 })
  })

  test('that takes none leaves it: the tick is fired, once', async () => {
    const job = await during('ROLLBACK')
    expect(await dues(job)).toEqual([first(job)])
    expect(await ledgerOf(house(), job)).toEqual([])
    expect(await timerOf(house(), job)).toMatchObject({ due: first(job) + 10_000, runs: 1 })
  })
})

describe('in two lanes', () => {
  async function many() {
    const node = await house().node()
    const like = await node.register({ schedule: '@every 1h' })
    const startAt = (await house().now()) + 10_000
    const definition = { schedule: '@every 1h' }
    const keys = await crowd(house(), like, { count: 600, startAt, definition })
    await house().clock.advance(10_000)
    await node.beat()
    return { node, keys }
  }
  const firedOnce = () =>
    house().query<{ job: number; runs: number }>(
      'SELECT job, count(*)::int AS runs FROM carillon.queue GROUP BY job ORDER BY job',
    )

  test('one that fails waits for the other, whose ticks are fired; the next pass fires the rest, each once', async () => {
    const { node, keys } = await many()
    let calls = 0
    const stop = meddle(node.database, async (name, send) => {
      if (name !== 'fire-plain' || ++calls !== 1) return send()
      throw Object.assign(new Error('the disk is full'), { code: '53100' })
    })
    await expect(node.firing.runOnce()).rejects.toThrow('the disk is full')
    const half = await countOf(house(), 'queue')
    expect(half).toBeGreaterThan(0)
    expect(half).toBeLessThan(keys.length)
    stop()
    await node.firing.runOnce()
    expect(await firedOnce()).toEqual(keys.map((job) => ({ job, runs: 1 })))
  })

  test('what is lost in the middle of a pass is not fired, and what is kept is', async () => {
    const { node } = await many()
    let calls = 0
    meddle(node.database, async (name, send) => {
      if (name === 'fire-plain' && ++calls === 1)
        await house().query(
          'UPDATE carillon.partitions SET epoch = epoch + 1, owner = 1 WHERE partition % 4 = 0',
        )
      return send()
    })
    await node.firing.runOnce()
    const [row] = await house().query<{ lost: number; kept: number; left: number }>(
      `SELECT (SELECT count(*)::int FROM carillon.queue q JOIN carillon.partitions p USING (partition) WHERE q.epoch <> p.epoch) AS lost,
              (SELECT count(*)::int FROM carillon.queue) AS kept,
              (SELECT count(*)::int FROM carillon.timers WHERE runs = 0 AND partition % 4 <> 0 AND due <= carillon.now_ms()) AS left`,
    )
    expect(row).toMatchObject({ lost: 0, left: 0 })
    expect(row?.kept).toBeGreaterThan(0)
    expect(node.ownership.current().some(({ partition }) => partition % 4 === 0)).toBe(false)
  })
})
