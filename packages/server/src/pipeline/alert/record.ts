import type { Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import type { Finding, Over } from './finding.js'

const raiseStatement = statement<{ alerts: string; reopen_ms: number }, { alert: number }>(
  new URL('./raise.sql', import.meta.url),
)
const resolveStatement = statement<{ alerts: string; delay_ms: number }, { alert: number }>(
  new URL('./resolve.sql', import.meta.url),
)

/** Raised again so soon after its end, an alert is the same one. */
export const reopenMs = 300_000
/** Channels hear of an end so much later: what comes back before was never away. */
export const resolveDelayMs = 30_000

export async function raise(runner: Runner, findings: readonly Finding[]): Promise<void> {
  if (findings.length === 0) return
  await runner.run(raiseStatement, { alerts: JSON.stringify(findings), reopen_ms: reopenMs })
}

export async function resolve(runner: Runner, over: readonly Over[], delayMs: number): Promise<void> {
  if (over.length === 0) return
  await runner.run(resolveStatement, { alerts: JSON.stringify(over), delay_ms: delayMs })
}
