import type { Life } from '../../src/cluster/coordination.js'
import { pretendServerAge } from './meddle.js'
import { type TestNode, times } from './test-house.js'
import type { House } from './use-house.js'

const longAgo = 86_400_000

export interface ProcessRow {
  state: string
  beat: number
  beat_at: number
  ended_at: number | null
  host: string
  pid: number
  roles: string[]
  tasks: string[]
  report: unknown
}

/** Processes of a cluster, and what the tables and their peers say of them. */
export function usePeers(house: () => House) {
  async function processOf(incarnation: number): Promise<ProcessRow | undefined> {
    const [row] = await house().query<ProcessRow>(
      'SELECT * FROM carillon.incarnations WHERE incarnation = $1',
      [incarnation],
    )
    return row
  }

  async function stateOf(node: TestNode): Promise<string | undefined> {
    return (await processOf(node.membership.incarnation))?.state
  }

  /** A fleet on a server that has run for long, so that lost locks count. Each knows the last beat of those after it. */
  async function fleet(count: number): Promise<TestNode[]> {
    const nodes = await house().fleet(count)
    for (const node of nodes) pretendServerAge(node.database, longAgo)
    for (const node of [...nodes].reverse()) await node.membership.heartbeat()
    return nodes
  }

  async function partitionsOf(node: TestNode): Promise<number> {
    const rows = await house().query('SELECT FROM carillon.partitions WHERE owner = $1', [
      node.membership.incarnation,
    ])
    return rows.length
  }

  /** Lets time pass, with a life sign of these nodes every quarter of a second. */
  async function live(nodes: readonly TestNode[], forMs: number): Promise<void> {
    for (let passed = 0; passed < forMs; passed += times.heartbeatMs) {
      await house().clock.advance(Math.min(times.heartbeatMs, forMs - passed))
      for (const node of nodes) await node.membership.heartbeat()
    }
  }

  function goneCount(node: TestNode): () => number {
    let count = 0
    node.membership.onPeerGone(() => {
      count += 1
    })
    return () => count
  }

  /** Ends the session that holds the lock of a node, as a broken network does, and keeps it from coming back. */
  async function endSessionLock(node: TestNode): Promise<void> {
    const { life } = node.membership as unknown as { life: Life }
    await life.drop()
  }

  return { processOf, stateOf, fleet, partitionsOf, live, goneCount, endSessionLock }
}
