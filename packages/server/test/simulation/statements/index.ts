import type { StatementFunction } from '../store.js'
import * as cluster from './cluster.js'
import * as fire from './fire.js'
import * as queue from './queue.js'
import * as record from './record.js'
import * as recover from './recover.js'

/** Every statement that the services under test send, by the name of its .sql file. */
export const statements = {
  join: cluster.join,
  heartbeat: cluster.heartbeat,
  peers: cluster.peers,
  'declare-dead': cluster.declareDead,
  disown: cluster.disown,
  leave: cluster.leave,
  'take-partitions': cluster.take,
  'renew-partitions': cluster.renew,
  'release-partitions': cluster.release,
  'scan-due': fire.scanDue,
  'load-horizon': fire.loadHorizon,
  changed: fire.changed,
  'read-timers': fire.readTimers,
  'fire-plain': fire.firePlain,
  fire: fire.fire,
  lanes: queue.lanes,
  lease: queue.lease,
  held: queue.held,
  revoked: queue.revoked,
  'still-held': queue.stillHeld,
  'hand-back': queue.handBack,
  definitions: queue.definitions,
  close: record.close,
  'close-plain': record.closePlain,
  'note-stale': record.noteStale,
  orphaning: recover.orphaning,
  rescue: recover.rescue,
  rescued: recover.rescued,
} as const satisfies Record<string, StatementFunction>

export type StatementName = keyof typeof statements
