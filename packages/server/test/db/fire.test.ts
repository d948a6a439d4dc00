import { expect, test } from 'vitest'
import { Gate } from '../kit/gate.js'
import { handAllTo, heldNow, ownerBelieving } from '../kit/owner.js'
import { countOf, ledgerOf, queueOf, timerOf } from '../kit/rows.js'
import type { TestNode } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'
import { utcText } from '../../src/time/iso-text.js'

const house = useHouse()

/** What was changed under the owner's hands is looked at again a little later. */
async function lookAgain(node: TestNode): Promise<void> {
  await house().clock.advance(50)
  await node.firing.runOnce()
}

test('passes of one owner that race fire a tick once', async () => {
  const node = await house().node()
  const jobs = await Promise.all(Array.from({ length: 20 }, () => node.register({ schedule: '@every 10s' })))
  await house().clock.advance(10_000)
  await node.beat()
  await Promise.all(Array.from({ length: 8 }, () => node.firing.runOnce()))
  for (const job of jobs) {
    expect(await queueOf(house(), job)).toHaveLength(1)
    expect(await ledgerOf(house(), job)).toEqual([])
    expect(Date.parse(job.next_run_at ?? '') + 10_000).toBe((await timerOf(house(), job)).due)
  }
})

test('two owners that race fire a tick once, under the newer epoch', async () => {
  const [old, heir] = [await house().node(), await house().node()]
  const jobs = await Promise.all(Array.from({ length: 20 }, () => heir.register({ schedule: '@every 10s' })))
  const before = await heldNow(house())
  const after = await handAllTo(house(), heir)
  const oldOwner = ownerBelieving(house(), { node: old, believes: before })
  const newOwner = ownerBelieving(house(), { node: heir, believes: after })
  for (let tick = 1; tick <= 3; tick++) {
    await house().clock.advance(10_000)
    const both = [oldOwner, newOwner, oldOwner, newOwner, oldOwner, newOwner]
    await Promise.all(both.map(({ firing }) => firing.runOnce()))
    for (const job of jobs) {
      const runs = await queueOf(house(), job)
      expect(runs).toHaveLength(1)
      expect(runs[0]?.epoch).toBe(after[runs[0]?.partition ?? -1]?.epoch)
    }
    await house().query('DELETE FROM carillon.queue')
  }
})

test('a fire under an old epoch is refused, and the owner is told to let go', async () => {
  const [old, heir] = [await house().node(), await house().node()]
  const job = await heir.register({ schedule: '@every 10s' })
  const timer = await timerOf(house(), job)
  const before = await heldNow(house())
  await handAllTo(house(), heir)
  const { firing, disowned } = ownerBelieving(house(), { node: old, believes: before })
  await house().clock.advance(10_000)
  await firing.runOnce()
  expect(await timerOf(house(), job)).toEqual(timer)
  expect(await countOf(house(), 'queue')).toBe(0)
  expect(disowned).toEqual([timer.partition])
})

test('a fire with the right epoch but by another process is refused', async () => {
  const [thief, owner] = [await house().node(), await house().node()]
  const job = await owner.register({ schedule: '@every 10s' })
  const timer = await timerOf(house(), job)
  const { firing } = ownerBelieving(house(), { node: thief, believes: await handAllTo(house(), owner) })
  await house().clock.advance(10_000)
  await firing.runOnce()
  expect(await timerOf(house(), job)).toEqual(timer)
  expect(await countOf(house(), 'queue')).toBe(0)
})

test('a fire from an earlier ownership of the same process is refused', async () => {
  const node = await house().node()
  const job = await node.register({ schedule: '@every 10s' })
  const timer = await timerOf(house(), job)
  const before = await heldNow(house())
  // Lost and taken back: the owner is the same, the epoch is not.
  await handAllTo(house(), node)
  const { firing, disowned } = ownerBelieving(house(), { node, believes: before })
  await house().clock.advance(10_000)
  await firing.runOnce()
  expect(await timerOf(house(), job)).toEqual(timer)
  expect(await countOf(house(), 'queue')).toBe(0)
  expect(disowned).toEqual([timer.partition])
})

test('a fire that waited for a takeover in progress fires nothing under the old epoch', async () => {
  const node = await house().node()
  const job = await node.register({ schedule: '@every 10s' })
  const timer = await timerOf(house(), job)
  await house().clock.advance(10_000)
  await node.beat()
  const taker = await house().session()
  await taker.query('BEGIN')
  await taker.query('SELECT FROM carillon.partitions WHERE partition = $1 FOR UPDATE', [timer.partition])
  const fire = node.firing.runOnce()
  await house().lockWaits(1)
  await taker.query('UPDATE carillon.partitions SET epoch = epoch + 1, owner = 1 WHERE partition = $1', [
    timer.partition,
  ])
  await taker.query('COMMIT')
  await fire
  expect(await countOf(house(), 'queue')).toBe(0)
  expect(await timerOf(house(), job)).toEqual(timer)
  expect(node.ownership.current().map(({ partition }) => partition)).not.toContain(timer.partition)
})

test('a takeover does not come between the check and the commit of a fire', async () => {
  const [owner, heir] = [await house().node(), await house().node()]
  const job = await owner.register({ schedule: '@every 10s' })
  const { partition } = await timerOf(house(), job)
  const believes = await handAllTo(house(), owner)
  const { firing } = ownerBelieving(house(), { node: owner, believes })
  await house().clock.advance(10_000)
  const gate = await Gate.closeBefore(house(), 'INSERT', 'queue')
  const fire = firing.runOnce()
  await house().lockWaits(1)

  // The heir may take all of them, as if the owner's leases were over.
  await house().query('UPDATE carillon.partitions SET expires_at = 0')
  const epochNow = async () => (await heldNow(house()))[partition]?.epoch
  const wanting = heir.ownership as unknown as { take(wanted: number[]): Promise<void> }
  await wanting.take(believes.map((held) => held.partition))
  expect(await epochNow()).toBe(believes[partition]?.epoch)
  await gate.open()
  await fire
  expect((await queueOf(house(), job))[0]?.epoch).toBe(believes[partition]?.epoch)
  await wanting.take([partition])
  expect(await epochNow()).toBeGreaterThan(believes[partition]?.epoch ?? 0)
})

test('a change of epoch that does not look at locks waits for the fire in progress', async () => {
  const node = await house().node()
  const job = await node.register({ schedule: '@every 10s' })
  await house().clock.advance(10_000)
  await node.beat()
  const gate = await Gate.closeBefore(house(), 'INSERT', 'queue')
  const fire = node.firing.runOnce()
  await house().lockWaits(1)
  const taker = await house().session()
  const taken = taker.query('UPDATE carillon.partitions SET epoch = epoch + 1')
  await house().lockWaits(2)
  await gate.open()
  await Promise.all([fire, taken])
  expect(await queueOf(house(), job)).toHaveLength(1)
})

test('a renewal does not wait for a fire in progress', async () => {
  const node = await house().node()
  await node.register({ schedule: '@every 10s' })
  await house().clock.advance(9_000)
  await node.beat()
  await house().clock.advance(4_000)
  const gate = await Gate.closeBefore(house(), 'INSERT', 'queue')
  const fire = node.firing.runOnce()
  await house().lockWaits(1)
  await node.ownership.runOnce()
  const [row] = await house().query<{ soonest: number }>(
    'SELECT min(expires_at) AS soonest FROM carillon.partitions',
  )
  expect(row?.soonest).toBe((await house().now()) + 10_000)
  await gate.open()
  await fire
})

test('an edit that leaves the due instant equal but raises rev refuses the fire', async () => {
  const node = await house().node()
  const job = await node.register({ schedule: '@every 10s' })
  const timer = await timerOf(house(), job)
  await house().clock.advance(10_000)
  await node.beat()
  // The owner has seen the timer; before its statement begins the edit commits.
  const gateKeeper = await house().session()
  await gateKeeper.query('BEGIN')
  await gateKeeper.query('SELECT FROM carillon.partitions WHERE partition = $1 FOR UPDATE', [timer.partition])
  const fire = node.firing.runOnce()
  await house().lockWaits(1)
  await house().query('UPDATE carillon.timers SET rev = rev + 1 WHERE job = $1', [job.key])
  await gateKeeper.query('ROLLBACK')
  await fire
  expect(await queueOf(house(), job)).toEqual([])
  expect(await timerOf(house(), job)).toEqual({ ...timer, rev: timer.rev + 1 })

  await lookAgain(node)
  expect(await queueOf(house(), job)).toHaveLength(1)
})

test.each([
  ['run', 'CREATE TRIGGER refuse AFTER INSERT ON carillon.queue EXECUTE FUNCTION carillon_test.refuse()'],
  ['cursor', 'CREATE TRIGGER refuse AFTER UPDATE ON carillon.timers EXECUTE FUNCTION carillon_test.refuse()'],
])('when writing the %s fails, there is neither a run nor a moved cursor', async (_what, trigger) => {
  const node = await house().node()
  const job = await node.register({ schedule: '@every 10s' })
  const timer = await timerOf(house(), job)
  await house().clock.advance(10_000)
  await node.beat()
  await house().query(`CREATE FUNCTION carillon_test.refuse() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN RAISE EXCEPTION 'the disk is full' USING ERRCODE = '53100'; END $$`)
  await house().query(trigger)
  await expect(node.firing.runOnce()).rejects.toThrow('the disk is full')
  expect(await queueOf(house(), job)).toEqual([])
  expect(await timerOf(house(), job)).toEqual(timer)

  await house().query('DROP FUNCTION carillon_test.refuse() CASCADE')
  await node.firing.runOnce()
  expect(await queueOf(house(), job)).toHaveLength(1)
})

test('a timer that somebody holds is left for the next pass and holds up no other', async () => {
  const node = await house().node()
  const [held, free] = [
    await node.register({ schedule: '@every 10s' }),
    await node.register({ schedule: '@every 10s' }),
  ]
  await house().clock.advance(10_000)
  await node.beat()
  const editor = await house().session()
  await editor.query('BEGIN')
  await editor.query('SELECT FROM carillon.timers WHERE job = $1 FOR UPDATE', [held.key])
  await node.firing.runOnce()
  expect(await queueOf(house(), held)).toEqual([])
  expect(await queueOf(house(), free)).toHaveLength(1)
  await editor.query('ROLLBACK')
  await lookAgain(node)
  expect(await queueOf(house(), held)).toHaveLength(1)
})

test('a one-off fires once and ends its job', async () => {
  const node = await house().node()
  const at = (await house().now()) + 5_000
  const job = await node.register({ schedule: utcText(at) })
  await house().clock.advance(5_000)
  await node.firing.runOnce()
  await node.firing.runOnce()
  expect(await queueOf(house(), job)).toMatchObject([{ due: at, next_due: null }])
  expect(await timerOf(house(), job)).toMatchObject({ due: null, start_at: null, accounted_through: at })
  expect(await node.registry.get(1, job.job_id)).toMatchObject({ state: 'ended', next_run_at: null })
})
