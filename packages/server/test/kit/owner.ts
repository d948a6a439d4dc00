import { Firing } from '../../src/pipeline/fire/firing.js'
import { silentLog } from './test-database.js'
import type { TestNode } from './test-house.js'
import type { House } from './use-house.js'

export interface Held {
  partition: number
  epoch: number
}

/** Every partition with the epoch that the database has now. */
export function heldNow(house: House): Promise<Held[]> {
  return house.query<Held>('SELECT partition, epoch FROM carillon.partitions ORDER BY partition')
}

/** Gives every partition to a node at once, under a new epoch, as a takeover does. */
export async function handAllTo(house: House, node: TestNode): Promise<Held[]> {
  await house.query('UPDATE carillon.partitions SET epoch = epoch + 1, owner = $1, expires_at = $2', [
    node.membership.incarnation,
    (await house.now()) + 60_000,
  ])
  return heldNow(house)
}

export interface OwnerOptions {
  node: TestNode
  /** What this owner believes to hold; it need not be true. */
  believes: Held[]
  stageAheadMs?: number
  wake?: () => void
}

/** A firing loop with a belief of its own about what it owns. */
export function ownerBelieving(house: House, options: OwnerOptions) {
  const { node, believes, stageAheadMs = 2_000, wake = () => undefined } = options
  const disowned: number[] = []
  const firing = new Firing({
    database: node.database,
    databaseClock: node.databaseClock,
    clock: house.clock,
    log: silentLog,
    metrics: node.metrics,
    stageAheadMs,
    lateToleranceMs: 15_000,
    self: () => node.membership.incarnation,
    owned: () => believes,
    disown: (partitions) => disowned.push(...partitions),
    onFired: () => undefined,
    wake,
  })
  return { firing, disowned }
}
