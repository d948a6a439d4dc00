import type { JobInput } from '@carillon/contract'
import { expect, test } from 'vitest'
import { faultsInChain } from '../kit/account.js'
import { Gate } from '../kit/gate.js'
import { meddleWith } from '../kit/meddle.js'
import { handAllTo, heldNow, ownerBelieving } from '../kit/owner.js'
import { countOf, ledgerOf, queueOf, replaysOf, timerOf } from '../kit/rows.js'
import type { TestNode } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()
const minute = 60_000

/** A job with six missed ticks in a replay, none of them caught up. */
async function missed(node: TestNode, input: Partial<JobInput> = {}) {
  const job = await node.register({ schedule: '@every 10m', missed_window: 'RUN_ALL', ...input })
  await house().clock.advance(65 * minute)
  await node.beat()
  await node.firing.runOnce()
  const [replay] = await replaysOf(house(), job)
  if (replay === undefined) throw new Error('nothing was missed')
  return { job, replay }
}

test('under an old epoch nothing is caught up', async () => {
  const [old, heir] = [await house().node(), await house().node()]
  const before = await handAllTo(house(), old)
  const job = await heir.register({ schedule: '@every 10m', missed_window: 'RUN_ALL' })
  await house().clock.advance(65 * minute)
  const owner = ownerBelieving(house(), { node: old, believes: before })
  await owner.firing.runOnce()
  const replays = await replaysOf(house(), job)
  expect(replays).toHaveLength(1)
  const after = await handAllTo(house(), heir)
  await owner.tier.catchUp.runOnce()
  expect(await countOf(house(), 'queue')).toBe(0)
  expect(await replaysOf(house(), job)).toEqual(replays)

  const newOwner = ownerBelieving(house(), { node: heir, believes: after })
  await newOwner.tier.catchUp.runOnce()
  const [run] = await queueOf(house(), job)
  expect(run?.epoch).toBe(after[run?.partition ?? -1]?.epoch)
})

test('with the right epoch but by another process nothing is caught up', async () => {
  const [thief, owner] = [await house().node(), await house().node()]
  const believes = await handAllTo(house(), owner)
  const job = await owner.register({ schedule: '@every 10m', missed_window: 'RUN_ALL' })
  await house().clock.advance(65 * minute)
  await ownerBelieving(house(), { node: owner, believes }).firing.runOnce()
  await ownerBelieving(house(), { node: thief, believes }).tier.catchUp.runOnce()
  expect(await countOf(house(), 'queue')).toBe(0)
  expect(await replaysOf(house(), job)).toMatchObject([{ done: 0 }])
})

test('by an earlier ownership of the same process nothing is caught up', async () => {
  const node = await house().node()
  const { job, replay } = await missed(node)
  const before = await heldNow(house())
  // Lost and taken back: the owner is the same, the epoch is not.
  await handAllTo(house(), node)
  await ownerBelieving(house(), { node, believes: before }).tier.catchUp.runOnce()
  expect(await countOf(house(), 'queue')).toBe(0)
  expect(await replaysOf(house(), job)).toEqual([replay])
})

test('what waited for a takeover in progress catches up nothing under the old epoch', async () => {
  const node = await house().node()
  const { job, replay } = await missed(node)
  const { partition } = await timerOf(house(), job)
  const taker = await house().session()
  await taker.query('BEGIN')
  await taker.query('SELECT FROM carillon.partitions WHERE partition = $1 FOR UPDATE', [partition])
  const catchingUp = node.catchUp.runOnce()
  await house().lockWaits(1)
  await taker.query('UPDATE carillon.partitions SET epoch = epoch + 1, owner = 1 WHERE partition = $1', [
    partition,
  ])
  await taker.query('COMMIT')
  await catchingUp
  expect(await countOf(house(), 'queue')).toBe(0)
  expect(await replaysOf(house(), job)).toEqual([replay])
})

test('a takeover waits for what is being caught up, and its run has the old epoch', async () => {
  const node = await house().node()
  const { job } = await missed(node)
  const { partition } = await timerOf(house(), job)
  const before = (await heldNow(house()))[partition]?.epoch
  const gate = await Gate.closeBefore(house(), 'INSERT', 'queue')
  const catchingUp = node.catchUp.runOnce()
  await house().lockWaits(1)
  const taker = await house().session()
  const taken = taker.query('UPDATE carillon.partitions SET epoch = epoch + 1')
  await house().lockWaits(2)
  await gate.open()
  await Promise.all([catchingUp, taken])
  expect(await queueOf(house(), job)).toMatchObject([{ epoch: before, catch_up: true }])
  expect(await replaysOf(house(), job)).toMatchObject([{ done: 1 }])
})

test.each([
  ['was paused', "UPDATE carillon.replays SET state = 'paused' WHERE job = $1"],
  ['was cancelled', "UPDATE carillon.replays SET state = 'cancelled' WHERE job = $1"],
  ['went on', 'UPDATE carillon.replays SET cursor_ms = cursor_ms + 600000, done = 1 WHERE job = $1'],
])('a replay that %s since it was seen is left alone', async (_what, change) => {
  const node = await house().node()
  const { job } = await missed(node)
  const { partition } = await timerOf(house(), job)
  const keeper = await house().session()
  await keeper.query('BEGIN')
  await keeper.query('SELECT FROM carillon.partitions WHERE partition = $1 FOR UPDATE', [partition])
  const catchingUp = node.catchUp.runOnce()
  await house().lockWaits(1)
  await house().query(change, [job.key])
  const after = await replaysOf(house(), job)
  await keeper.query('ROLLBACK')
  await catchingUp
  expect(await countOf(house(), 'queue')).toBe(0)
  expect(await replaysOf(house(), job)).toEqual(after)
})

test('a replay that is paused is not caught up until it runs again', async () => {
  const node = await house().node()
  const { job } = await missed(node)
  await house().query("UPDATE carillon.replays SET state = 'paused' WHERE job = $1", [job.key])
  await node.catchUp.runOnce()
  expect(await countOf(house(), 'queue')).toBe(0)
  await house().query("UPDATE carillon.replays SET state = 'running' WHERE job = $1", [job.key])
  await node.catchUp.runOnce()
  expect(await countOf(house(), 'queue')).toBe(1)
})

test('a job that somebody changes is left for the next look, and holds up no other', async () => {
  const node = await house().node()
  const { job } = await missed(node)
  const { job: free } = await missed(node)
  const editor = await house().session()
  await editor.query('BEGIN')
  await editor.query('SELECT FROM carillon.timers WHERE job = $1 FOR UPDATE', [job.key])
  await node.catchUp.runOnce()
  expect(await queueOf(house(), job)).toEqual([])
  expect(await queueOf(house(), free)).toHaveLength(1)
  await editor.query('ROLLBACK')
  await node.catchUp.runOnce()
  expect(await queueOf(house(), job)).toHaveLength(1)
})

test('looks that race catch a tick up once', async () => {
  const node = await house().node()
  const { job } = await missed(node, { overlap_policy: 'ALLOW' })
  await Promise.all(Array.from({ length: 6 }, () => node.catchUp.runOnce()))
  expect(await queueOf(house(), job)).toHaveLength(1)
  expect(await replaysOf(house(), job)).toMatchObject([{ done: 1 }])
})

test.each([
  ['run', 'CREATE TRIGGER refuse AFTER INSERT ON carillon.queue EXECUTE FUNCTION carillon_test.refuse()'],
  [
    'cursor',
    'CREATE TRIGGER refuse AFTER UPDATE ON carillon.replays EXECUTE FUNCTION carillon_test.refuse()',
  ],
])('when writing the %s fails, there is neither a run nor a moved cursor', async (_what, trigger) => {
  const node = await house().node()
  const { job, replay } = await missed(node)
  await house().query(`CREATE FUNCTION carillon_test.refuse() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN RAISE EXCEPTION 'the disk is full' USING ERRCODE = '53100'; END $$`)
  await house().query(trigger)
  await expect(node.catchUp.runOnce()).rejects.toThrow('the disk is full')
  await house().query('DROP FUNCTION carillon_test.refuse() CASCADE')
  expect(await countOf(house(), 'queue')).toBe(0)
  expect(await replaysOf(house(), job)).toEqual([replay])
})

test.each(['before', 'after'])(
  'nodes that crash again and again just %s the database has caught a tick up lose and double none',
  async (when) => {
    const first = await house().node()
    const registered = await house().now()
    const { job } = await missed(first)
    let [node, catchUp] = [first, first.catchUp]
    for (let crash = 0; crash < 6; crash++) {
      meddleWith(node.database, 'replay', async (send) => {
        if (when === 'after') await send()
        throw new Error('the process was killed')
      })
      await expect(catchUp.runOnce()).rejects.toThrow('killed')
      const heir = await house().node()
      await node.crash()
      node = heir
      await house().clock.advance(3_000)
      const believes = await handAllTo(house(), heir)
      ;({ catchUp } = ownerBelieving(house(), { node, believes }).tier)
      await catchUp.runOnce()
      await node.worker.leaseOnce()
      await house().finished(node)
    }
    const ledger = await ledgerOf(house(), job)
    expect(
      ledger.map(({ due, outcome, catch_up }) => [(due - registered) / minute, outcome, catch_up]),
    ).toEqual([10, 20, 30, 40, 50, 60].map((at) => [at, 'success', true]))
    const rule = { schedule: '@every 10m', timezone: 'UTC', anchor: registered }
    expect(faultsInChain(ledger, rule, registered)).toEqual([])
    expect(await replaysOf(house(), job)).toMatchObject([{ state: 'done', done: 6, total: 6 }])
  },
)
