import type { Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { withoutSecrets } from '../../platform/secrets-in-text.js'
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

/**
 * What is found quotes errors of runs, and what is raised goes to chats, mailboxes and whoever may read alerts: nothing that is a secret by its form
 * goes with it. Fingerprints go the same way, to raise and to resolve, and stay the same.
 */
function textOf(found: readonly Finding[] | readonly Over[]): string {
  return withoutSecrets(JSON.stringify(found))
}

export async function raise(runner: Runner, findings: readonly Finding[]): Promise<void> {
  if (findings.length === 0) return
  await runner.run(raiseStatement, { alerts: textOf(findings), reopen_ms: reopenMs })
}

export async function resolve(runner: Runner, over: readonly Over[], delayMs: number): Promise<void> {
  if (over.length === 0) return
  await runner.run(resolveStatement, { alerts: textOf(over), delay_ms: delayMs })
}
