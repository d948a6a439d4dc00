import { type FireEvent, FireTier } from '../../src/pipeline/fire/tier.js'
import { silentLog } from './test-database.js'
import { fireTimes, type TestNode } from './test-house.js'
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
  believes: readonly Held[]
  stageAheadMs?: number
  settings?: Partial<typeof fireTimes>
  wake?: () => void
}

/** The firing of a node with a belief of its own about what it owns, and with a wheel of its own. */
export function ownerBelieving(house: House, options: OwnerOptions) {
  const { node, believes, stageAheadMs = 2_000, settings = {}, wake = () => undefined } = options
  const disowned: number[] = []
  const events: FireEvent[] = []
  const resolved: string[] = []
  const told: ('fired' | 'caught up')[] = []
  const tier = new FireTier({
    database: node.database,
    databaseClock: node.databaseClock,
    clock: house.clock,
    log: silentLog,
    metrics: node.metrics,
    ...fireTimes,
    stageAheadMs,
    ...settings,
    self: () => node.membership.incarnation,
    nodeName: () => 'node_test',
    owned: () => believes,
    disown: (refused) => disowned.push(...refused.map(({ partition }) => partition)),
    onFired: () => void told.push('fired'),
    onCaughtUp: () => void told.push('caught up'),
    raise: (event) => void events.push(event),
    resolve: (fingerprint) => void resolved.push(fingerprint),
    wake,
  })
  return { tier, firing: tier.firing, disowned, events, resolved, told }
}
