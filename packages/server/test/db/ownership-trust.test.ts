import { describe, expect, test } from 'vitest'
import { meddleWith, pretendServerAge } from '../kit/meddle.js'
import { heldNow } from '../kit/owner.js'
import { type TestNode, times } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

async function fleet(count: number): Promise<TestNode[]> {
  const nodes = await house().fleet(count)
  for (const node of nodes) pretendServerAge(node.database, 86_400_000)
  return nodes
}

async function single(): Promise<TestNode> {
  return house().node()
}

async function live(nodes: readonly TestNode[], forMs: number): Promise<void> {
  for (let passed = 0; passed < forMs; passed += times.heartbeatMs) {
    await house().clock.advance(times.heartbeatMs)
    for (const node of nodes) await node.beat()
  }
}

function count({ ownership }: TestNode): number {
  return ownership.current().length
}

async function lostCount({ metrics }: TestNode): Promise<number> {
  const { values } = await metrics.partitionsLost.get()
  return values[0]?.value ?? 0
}

async function epochOf(partition: number): Promise<number> {
  return (await heldNow(house()))[partition]?.epoch ?? -1
}

describe('trust in a lease', () => {
  test('is counted from before the taking was sent, however late its answer', async () => {
    const node = await single()
    node.ownership.disown(node.ownership.current())
    meddleWith(node.database, 'take-partitions', async (send) => {
      await house().clock.advance(2_000)
      const rows = await send()
      await house().clock.advance(2_000)
      return rows
    })
    await node.ownership.runOnce()
    await house().clock.advance(times.leaseTtlMs - 4_000 - 1)
    expect(count(node)).toBe(256)
    await house().clock.advance(1)
    expect(count(node)).toBe(0)
  })

  test('is counted from before the renewal was sent, however late its answer', async () => {
    const node = await single()
    meddleWith(node.database, 'renew-partitions', async (send) => {
      await house().clock.advance(2_000)
      const rows = await send()
      await house().clock.advance(2_000)
      return rows
    })
    await house().clock.advance(times.renewMs)
    await node.ownership.runOnce()
    await house().clock.advance(times.leaseTtlMs - 4_000 - 1)
    expect(count(node)).toBe(256)
    await house().clock.advance(1)
    expect(count(node)).toBe(0)
  })

  test('ends while a renewal is under way that takes too long, and its answer comes too late', async () => {
    const node = await single()
    const during: number[] = []
    meddleWith(node.database, 'renew-partitions', async (send) => {
      const rows = await send()
      await house().clock.advance(times.leaseTtlMs - times.renewMs)
      during.push(count(node))
      await house().clock.advance(times.renewMs)
      return rows
    })
    meddleWith(node.database, 'take-partitions', () => Promise.resolve([]))
    await house().clock.advance(times.renewMs)
    await node.ownership.runOnce()
    expect(during).toEqual([0])
    expect(count(node)).toBe(0)
  })

  test('ends by itself when the process sleeps, and the lease is taken again under a new epoch', async () => {
    const node = await single()
    const before = await epochOf(7)
    await house().clock.advance(times.leaseTtlMs)
    expect(count(node)).toBe(0)
    await node.beat()
    expect(count(node)).toBe(256)
    expect(await epochOf(7)).toBeGreaterThan(before)
    expect(await lostCount(node)).toBe(256)
  })

  test('is lost at once by a renewal that fails, though the lease has not ended', async () => {
    const node = await single()
    const heal = meddleWith(node.database, 'renew-partitions', () => Promise.reject(new Error('away')))
    await house().clock.advance(times.renewMs)
    await expect(node.ownership.runOnce()).rejects.toThrow('away')
    expect(count(node)).toBe(0)
    expect(await lostCount(node)).toBe(256)
    heal()
    const before = await epochOf(7)
    await node.ownership.runOnce()
    expect(count(node)).toBe(256)
    expect(await epochOf(7)).toBe(before + 1)
  })

  test('is lost at once where somebody has taken the partition, and only there', async () => {
    const node = await single()
    await house().query('UPDATE carillon.partitions SET epoch = epoch + 1, owner = 4711 WHERE partition < 3')
    meddleWith(node.database, 'take-partitions', () => Promise.resolve([]))
    await house().clock.advance(times.renewMs)
    await node.ownership.runOnce()
    const held = node.ownership.current().map(({ partition }) => partition)
    expect(held.sort((a, b) => a - b)).toEqual(Array.from({ length: 253 }, (_, at) => at + 3))
    expect(await lostCount(node)).toBe(3)
  })

  test('is lost where the epoch is newer, even if the owner is the same', async () => {
    const node = await single()
    await house().query('UPDATE carillon.partitions SET epoch = epoch + 1 WHERE partition = 9')
    await house().clock.advance(times.renewMs)
    meddleWith(node.database, 'take-partitions', () => Promise.resolve([]))
    await node.ownership.runOnce()
    expect(count(node)).toBe(255)
  })
})

describe('a refused fire', () => {
  test('ends the trust in its lease, and in no other', async () => {
    const node = await single()
    const refused = node.ownership.current().filter(({ partition }) => partition < 3)
    node.ownership.disown(refused)
    expect(count(node)).toBe(253)
    expect(await lostCount(node)).toBe(3)
  })

  test('that arrives after the partition was taken again says nothing about the new lease', async () => {
    const node = await single()
    const old = node.ownership.current()
    await house().clock.advance(times.leaseTtlMs)
    await node.beat()
    const lostBefore = await lostCount(node)
    node.ownership.disown(old)
    expect(count(node)).toBe(256)
    expect(await lostCount(node)).toBe(lostBefore)
  })
})

describe('taking partitions', () => {
  test('is repeated at once when its answer was lost: they are ours, though we did not know', async () => {
    const node = await single()
    node.ownership.disown(node.ownership.current())
    const heal = meddleWith(node.database, 'take-partitions', async (send) => {
      await send()
      throw new Error('the answer was lost')
    })
    await expect(node.ownership.runOnce()).rejects.toThrow('the answer was lost')
    expect(count(node)).toBe(0)
    heal()
    await node.ownership.runOnce()
    expect(count(node)).toBe(256)
    const byDatabase = await heldNow(house())
    expect(node.ownership.current().every((held) => held.epoch === byDatabase[held.partition]?.epoch)).toBe(
      true,
    )
  })

  test('does not take from a living owner whose lease goes on, whoever should have it', async () => {
    const [one, other] = (await fleet(2)) as [TestNode, TestNode]
    const itsOwn = count(other)
    meddleWith(one.database, 'peers', async (send) =>
      (await send()).filter(
        (row) => (row as { incarnation: number }).incarnation === one.membership.incarnation,
      ),
    )
    await one.beat()
    expect(one.membership.live('scheduler')).toEqual([one.membership.incarnation])
    expect(count(one)).toBe(256 - itsOwn)
  })

  test('leaves a partition with a fire in progress for the next pass', async () => {
    const node = await single()
    node.ownership.disown(node.ownership.current().filter(({ partition }) => partition === 5))
    const firing = await house().session()
    await firing.query('BEGIN')
    await firing.query('SELECT FROM carillon.partitions WHERE partition = 5 FOR KEY SHARE')
    await node.ownership.runOnce()
    expect(count(node)).toBe(255)
    await firing.query('COMMIT')
    await node.ownership.runOnce()
    expect(count(node)).toBe(256)
  })

  test('does not steal a partition that another took between the look and the lock', async () => {
    const [thief, victim] = (await fleet(2)) as [TestNode, TestNode]
    const [lease = { partition: -1, epoch: -1 }] = thief.ownership.current()
    const { partition } = lease
    thief.ownership.disown([lease])
    // Expired, and owned by a process that lives: free by its time alone.
    const bystander = await house().node()
    await house().query('UPDATE carillon.partitions SET owner = $2, expires_at = 1 WHERE partition = $1', [
      partition,
      bystander.membership.incarnation,
    ])
    const gate = await house().session()
    await gate.query('SELECT pg_advisory_lock(7708)')
    // Volatile, so that the planner does not call it: the statement must wait with its snapshot taken.
    await house().query(`CREATE OR REPLACE FUNCTION carillon.now_ms() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
      BEGIN PERFORM pg_advisory_xact_lock_shared(7708); RETURN (SELECT now_ms FROM carillon_test.clock); END $$`)
    try {
      const taking = thief.ownership.runOnce()
      await house().lockWaits(1)
      await gate.query(
        `UPDATE carillon.partitions SET epoch = epoch + 1, owner = $2, expires_at = 9000000000000
         WHERE partition = $1`,
        [partition, victim.membership.incarnation],
      )
      await gate.query('SELECT pg_advisory_unlock(7708)')
      await taking
    } finally {
      await house().query(`CREATE OR REPLACE FUNCTION carillon.now_ms() RETURNS bigint
        LANGUAGE sql STABLE PARALLEL SAFE AS 'SELECT now_ms FROM carillon_test.clock'`)
    }
    expect(thief.ownership.current().map((held) => held.partition)).not.toContain(partition)
    const [row] = await house().query<{ owner: number }>(
      'SELECT owner FROM carillon.partitions WHERE partition = $1',
      [partition],
    )
    expect(row?.owner).toBe(victim.membership.incarnation)
  })

  test('under an id that was declared dead meanwhile gives nothing to the new one', async () => {
    const node = await single()
    node.membership.onLost(() => node.ownership.dropAll())
    node.ownership.disown(node.ownership.current())
    const heal = meddleWith(node.database, 'take-partitions', async (send) => {
      const rows = await send()
      await house().query("UPDATE carillon.incarnations SET state = 'dead', ended_at = carillon.now_ms()")
      await node.membership.heartbeat()
      return rows
    })
    await node.ownership.runOnce()
    heal()
    expect(count(node)).toBe(0)
    await node.beat()
    expect(count(node)).toBe(256)
  })
})

describe('a node that renews but cannot fire', () => {
  /** Two nodes that have held partitions for a lease time; the first has not fired since. */
  async function oneStuck(): Promise<[stuck: TestNode, healthy: TestNode]> {
    const [stuck, healthy] = (await fleet(2)) as [TestNode, TestNode]
    await live([stuck, healthy], times.leaseTtlMs)
    stuck.sinceFiringMs = times.leaseTtlMs + 1
    await house().clock.advance(1)
    return [stuck, healthy]
  }

  test('lets go, and the others fire for it while it stands aside', async () => {
    const [stuck, healthy] = await oneStuck()
    expect(count(stuck)).toBeGreaterThan(100)
    await stuck.beat()
    expect(count(stuck)).toBe(0)
    await live([stuck, healthy], 2 * times.heartbeatMs)
    expect(count(healthy)).toBe(256)
    // Without partitions its firing loop has nothing to fail at: that alone does not bring it back.
    stuck.sinceFiringMs = 0
    await live([stuck, healthy], times.leaseTtlMs)
    expect(count(stuck)).toBe(0)
    expect(healthy.membership.live('worker')).toHaveLength(2)
  })

  test('keeps what it has as long as it fires within a lease time', async () => {
    const [stuck, healthy] = await oneStuck()
    stuck.sinceFiringMs = times.leaseTtlMs
    await live([stuck, healthy], times.leaseTtlMs)
    expect(count(stuck)).toBeGreaterThan(100)
  })

  test('comes back after a while, and gets its share again', async () => {
    const [stuck, healthy] = await oneStuck()
    await stuck.beat()
    stuck.sinceFiringMs = 0
    await live([stuck, healthy], 6 * times.leaseTtlMs + 4 * times.heartbeatMs)
    expect(count(stuck)).toBeGreaterThan(100)
    expect(count(stuck) + count(healthy)).toBe(256)
  })

  test('keeps what it has when it is alone: nobody else could do better', async () => {
    const node = await single()
    const before = await epochOf(7)
    node.sinceFiringMs = times.leaseTtlMs + 1
    await live([node], 3 * times.leaseTtlMs)
    expect(count(node)).toBe(256)
    expect(await epochOf(7)).toBe(before)
  })

  test('comes back at once when the others are gone', async () => {
    const [stuck, healthy] = await oneStuck()
    await live([stuck, healthy], 2 * times.heartbeatMs)
    expect(count(stuck)).toBe(0)
    await healthy.leave()
    await live([stuck], 2 * times.heartbeatMs)
    expect(count(stuck)).toBe(256)
  })

  test('has a lease time to fire after an outage, in which it lost its partitions and took them again', async () => {
    const both = (await fleet(2)) as [TestNode, TestNode]
    await house().clock.advance(2 * times.leaseTtlMs)
    for (const node of both) node.sinceFiringMs = 2 * times.leaseTtlMs
    await live(both, times.leaseTtlMs - times.heartbeatMs)
    expect(both.map(count).every((share) => share > 100)).toBe(true)
    for (const node of both) node.sinceFiringMs = 0
    const before = await heldNow(house())
    await live(both, times.leaseTtlMs)
    expect(await heldNow(house())).toEqual(before)
  })

  test('does not pass its partitions to and fro when the others cannot fire either', async () => {
    const both = await oneStuck()
    for (const node of both) node.sinceFiringMs = times.leaseTtlMs + 1
    const before = await epochOf(7)
    await live(both, 3 * times.leaseTtlMs)
    expect(count(both[0]) + count(both[1])).toBe(256)
    expect((await epochOf(7)) - before).toBeLessThanOrEqual(8)
  })
})
