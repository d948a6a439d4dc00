import { Outbox, type OutboxOptions, type RefusedRequest } from '../../src/pipeline/outbox/outbox.js'
import { silentLog } from './test-database.js'
import type { TestNode } from './test-house.js'

/** An outbox that registers by way of the node, and what it refused. */
export function outboxOf(node: TestNode, ports: Partial<OutboxOptions['ports']> = {}) {
  const { registry, database } = node
  const refused: RefusedRequest[] = []
  const outbox = new Outbox({
    database,
    log: silentLog,
    ports: {
      create: (tenant, uuid, input) => registry.createAs(tenant, uuid, input),
      trigger: async (tenant, uuid, within) => void (await registry.triggerWith(tenant, uuid, within)),
      ...ports,
    },
    raise: (event) => refused.push(event),
  })
  return { outbox, refused }
}
