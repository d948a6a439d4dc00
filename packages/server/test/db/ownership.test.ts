import { describe, expect, test } from 'vitest'
import { meddleWith, pretendServerAge } from '../kit/meddle.js'
import { type Held, heldNow } from '../kit/owner.js'
import { type TestNode, times } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

async function fleet(count: number): Promise<TestNode[]> {
  const nodes = await house().fleet(count)
  for (const node of nodes) pretendServerAge(node.database, 86_400_000)
  for (const node of [...nodes].reverse()) await node.membership.heartbeat()
  return nodes
}

/** Lets time pass for these nodes, at the pace of their heartbeats. */
async function live(nodes: readonly TestNode[], forMs: number): Promise<void> {
  for (let passed = 0; passed < forMs; passed += times.heartbeatMs) {
    await house().clock.advance(Math.min(times.heartbeatMs, forMs - passed))
    for (const node of nodes) await node.beat()
  }
}

function owned({ ownership }: TestNode): number[] {
  return ownership.current().map(({ partition }) => partition)
}

/** Who holds each partition by the database: as many numbers as there are partitions. */
async function owners(): Promise<(number | null)[]> {
  const rows = await house().query<{ owner: number | null }>(
    'SELECT owner FROM carillon.partitions ORDER BY partition',
  )
  return rows.map(({ owner }) => owner)
}

/** Every partition is held by exactly one of the nodes, and the database says the same. */
async function expectAllOwnedOnce(nodes: readonly TestNode[]): Promise<void> {
  const all = nodes.flatMap(owned).sort((a, b) => a - b)
  expect(all).toEqual(Array.from({ length: 256 }, (_, partition) => partition))
  const byDatabase = await owners()
  const epochs = await heldNow(house())
  for (const { membership, ownership } of nodes) {
    for (const { partition, epoch } of ownership.current()) {
      expect(byDatabase[partition]).toBe(membership.incarnation)
      expect(epochs[partition]?.epoch).toBe(epoch)
    }
  }
}

function expectRaised(before: Held[], after: Held[], partitions: readonly number[]): void {
  for (const partition of partitions) {
    expect(after[partition]?.epoch).toBeGreaterThan(before[partition]?.epoch ?? Infinity)
  }
}

describe('a fleet', () => {
  test.each([1, 2, 3, 5])(
    'of %i shares the partitions fairly, and each is owned exactly once',
    async (count) => {
      const nodes = await fleet(count)
      await expectAllOwnedOnce(nodes)
      for (const node of nodes) expect(owned(node).length).toBeLessThanOrEqual(Math.ceil(256 / count) + 1)
    },
  )

  test('makes room for a newcomer without leaving a partition alone for longer than a pass', async () => {
    const [first] = (await fleet(1)) as [TestNode]
    const second = await house().node()
    expect(owned(second)).toEqual([])
    await first.beat()
    const given = 256 - owned(first).length
    expect(given).toBeGreaterThan(120)
    await second.beat()
    expect(owned(second)).toHaveLength(given)
    await expectAllOwnedOnce([first, second])
  })

  test('stays as it is while nobody comes or goes: no epoch changes', async () => {
    const nodes = await fleet(2)
    const before = await heldNow(house())
    await live(nodes, 2 * times.leaseTtlMs)
    expect(await heldNow(house())).toEqual(before)
    await expectAllOwnedOnce(nodes)
  })

  test('renews its leases long before they end, and no more often than it was told', async () => {
    const nodes = await fleet(2)
    let renewals = 0
    for (const { database } of nodes) {
      meddleWith(database, 'renew-partitions', (send) => {
        renewals += 1
        return send()
      })
    }
    for (let look = 0; look < 20; look++) {
      await live(nodes, 1_000)
      const [row] = await house().query<{ left: number }>(
        'SELECT min(expires_at) - carillon.now_ms() AS left FROM carillon.partitions',
      )
      expect(row?.left).toBeGreaterThanOrEqual(times.leaseTtlMs - times.renewMs - times.heartbeatMs)
    }
    expect(renewals).toBeLessThanOrEqual((2 * 20_000) / times.renewMs + 2)
  })
})

describe('the partitions of a node', () => {
  test('that leaves go to the others at once, without any time passing', async () => {
    const [one, two, leaving] = (await fleet(3)) as [TestNode, TestNode, TestNode]
    const before = await heldNow(house())
    const left = owned(leaving)
    await leaving.leave()
    // Twice: the two that stay also settle between themselves who has what now.
    for (let pass = 0; pass < 2; pass++) for (const node of [one, two]) await node.beat()
    await expectAllOwnedOnce([one, two])
    expectRaised(before, await heldNow(house()), left)
  })

  test('that crashed are taken over after two missed heartbeats, by its lost connection', async () => {
    const [one, two, crashed] = (await fleet(3)) as [TestNode, TestNode, TestNode]
    const before = await heldNow(house())
    const lost = owned(crashed)
    await crashed.crash()
    await live([one, two], times.heartbeatMs)
    expect((await owners()).filter((owner) => owner === crashed.membership.incarnation)).toHaveLength(
      lost.length,
    )
    await live([one, two], 2 * times.heartbeatMs)
    await expectAllOwnedOnce([one, two])
    expectRaised(before, await heldNow(house()), lost)
  })

  test('that is silent with its connection standing are taken over after the lease time, not before', async () => {
    const [one, silent] = (await fleet(2)) as [TestNode, TestNode]
    const lost = owned(silent)
    await live([one], times.leaseTtlMs - times.heartbeatMs)
    expect(owned(one)).toHaveLength(256 - lost.length)
    await live([one], times.heartbeatMs)
    await expectAllOwnedOnce([one])
    expect(owned(silent)).toEqual([])
  })

  test('that is silent stay its own while only the database clock says that they ended', async () => {
    const [one, silent] = (await fleet(2)) as [TestNode, TestNode]
    const before = await owners()
    await house().clock.stepDatabase(3_600_000)
    await live([one], times.heartbeatMs)
    expect(await owners()).toEqual(before)
    await live([silent], times.heartbeatMs)
    await expectAllOwnedOnce([one, silent])
  })

  test('that is silent stay its own while only the observer’s clock says that they ended', async () => {
    const [one, silent] = (await fleet(2)) as [TestNode, TestNode]
    const its = owned(silent)
    await house().clock.stepDatabase(-5_000)
    await live([one], times.leaseTtlMs)
    const held = (await owners()).filter((owner) => owner === silent.membership.incarnation)
    expect(held).toHaveLength(its.length)
    await live([one], 5_000)
    await expectAllOwnedOnce([one])
  })

  test('that was declared dead are dropped, and it comes back under a new id with new epochs', async () => {
    const [one, silent] = (await fleet(2)) as [TestNode, TestNode]
    const oldId = silent.membership.incarnation
    silent.membership.onLost(() => silent.ownership.dropAll())
    await live([one], times.runLeaseMs)
    const taken = await heldNow(house())
    await silent.membership.heartbeat()
    expect(silent.ownership.current()).toEqual([])
    await live([one, silent], 2 * times.heartbeatMs)
    expect(await owners()).not.toContain(oldId)
    await expectAllOwnedOnce([one, silent])
    expectRaised(taken, await heldNow(house()), owned(silent))
  })
})

describe('a process that was declared dead and does not know it yet', () => {
  async function deadAndUnaware(): Promise<{ dead: TestNode; held: number[] }> {
    const [dead] = (await fleet(1)) as [TestNode]
    const held = owned(dead)
    await house().query("UPDATE carillon.incarnations SET state = 'dead', ended_at = carillon.now_ms()")
    return { dead, held }
  }

  test('cannot renew: it loses everything at the next try', async () => {
    const { dead, held } = await deadAndUnaware()
    expect(held).toHaveLength(256)
    await house().clock.advance(times.renewMs)
    await dead.ownership.runOnce()
    expect(owned(dead)).toEqual([])
  })

  test('cannot take anything either', async () => {
    const { dead } = await deadAndUnaware()
    await house().query('UPDATE carillon.partitions SET owner = NULL, expires_at = 0')
    dead.ownership.dropAll()
    await dead.ownership.runOnce()
    expect(owned(dead)).toEqual([])
    expect(new Set(await owners())).toEqual(new Set([null]))
  })

  test('has its partitions taken by a newcomer at once, before their leases end', async () => {
    await deadAndUnaware()
    const newcomer = await house().node()
    await newcomer.beat()
    expect(owned(newcomer)).toHaveLength(256)
  })
})

describe('epochs', () => {
  test('only ever grow, through every kind of change of hands', async () => {
    let before = await heldNow(house())
    let changes = 0
    let ownersBefore = await owners()
    const check = async () => {
      const after = await heldNow(house())
      const ownersAfter = await owners()
      for (const [partition, { epoch }] of after.entries()) {
        const last = before[partition]?.epoch ?? 0
        const changed = ownersAfter[partition] !== null && ownersAfter[partition] !== ownersBefore[partition]
        if (changed) changes += 1
        if (changed) expect(epoch).toBeGreaterThan(last)
        else expect(epoch).toBeGreaterThanOrEqual(last)
      }
      before = after
      ownersBefore = ownersAfter
    }
    const [one, two] = (await fleet(2)) as [TestNode, TestNode]
    await check()
    await two.leave()
    await one.beat()
    await check()
    const three = await house().node()
    for (const node of [one, three]) await node.beat()
    await check()
    await three.crash()
    await live([one], times.runLeaseMs)
    await check()
    one.ownership.disown(one.ownership.current())
    await one.beat()
    await check()
    expect(changes).toBeGreaterThan(500)
    expect(owned(one)).toHaveLength(256)
  })

  test('carry the WAL timeline in their high bits', async () => {
    const [node] = (await fleet(1)) as [TestNode]
    const [row] = await house().query<{ timeline: number }>(
      'SELECT timeline_id AS timeline FROM pg_control_checkpoint()',
    )
    const timelines = node.ownership.current().map(({ epoch }) => Math.floor(epoch / 2 ** 40))
    expect(new Set(timelines)).toEqual(new Set([row?.timeline]))
    expect(node.ownership.current().every(({ epoch }) => Number.isSafeInteger(epoch))).toBe(true)
  })

  test('of a new timeline are above all of the old one, also those that the failover lost', async () => {
    const [node] = (await fleet(1)) as [TestNode]
    const lostInFailover = Math.max(...node.ownership.current().map(({ epoch }) => epoch)) + 1_000_000
    await house().query('ALTER FUNCTION carillon.timeline_base() RENAME TO old_timeline_base')
    await house().query(`CREATE FUNCTION carillon.timeline_base() RETURNS bigint
      LANGUAGE sql STABLE AS 'SELECT 2::bigint << 40'`)
    try {
      node.ownership.disown(node.ownership.current())
      await node.beat()
      const epochs = node.ownership.current().map(({ epoch }) => epoch)
      expect(epochs).toHaveLength(256)
      expect(Math.min(...epochs)).toBeGreaterThan(lostInFailover)
      expect(new Set(epochs.map((epoch) => Math.floor(epoch / 2 ** 40)))).toEqual(new Set([2]))
    } finally {
      await house().query('DROP FUNCTION carillon.timeline_base()')
      await house().query('ALTER FUNCTION carillon.old_timeline_base() RENAME TO timeline_base')
    }
  })
})
