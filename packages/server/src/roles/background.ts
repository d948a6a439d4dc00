import { RunCounting } from '../pipeline/account/run-counting.js'
import { Operating } from '../pipeline/register/bulk/operating.js'
import type { Service } from '../platform/service.js'
import { type Context, loop } from './context.js'

const operationMs = 500
const countMs = 5_000

/** What schedulers do beside firing, in nobody's way: operations on many jobs, and counts of what became of runs. */
export function composeBackground(
  context: Context,
  hints: { lookNow: () => void; runFired: () => void },
): { services: Service[]; operationStarted(): void } {
  const { database, log, config } = context
  const operating = new Operating({
    database,
    log,
    lateToleranceMs: config.lateToleranceSeconds * 1000,
    onChanged: (action) => (action === 'trigger' ? hints.runFired() : hints.lookNow()),
  })
  const counting = new RunCounting(database)
  const operations = loop(context, 'operations', operationMs, () => operating.runOnce())
  const counts = loop(context, 'count-runs', countMs, () => counting.runOnce())
  return { services: [operations, counts], operationStarted: () => operations.wake() }
}
