import { type BreakerState, breakerDefaults, breakerStates } from '@carillon/contract'
import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import type { Metrics } from '../../platform/metrics.js'
import { utcText } from '../../time/iso-text.js'

interface OpenRow {
  tenant: number
  host: string
  /** Null: it is closed by now, and only its event is open. */
  state: BreakerState | null
  since: number | null
  retry_at: number | null
  last_error: string | null
  told: boolean
}

const settleStatement = statement<
  { window_seconds: number; max_open_seconds: number },
  { tenant: number; host: string; was: string; state: string }
>(new URL('./settle-targets.sql', import.meta.url))
const openStatement = statement<Record<string, never>, OpenRow>(
  new URL('./open-breakers.sql', import.meta.url),
)

export interface BreakersOptions {
  database: Database
  metrics: Metrics
  raise: (event: {
    tenant: number
    kind: 'breaker_open'
    fingerprint: string
    subject: string
    detail: Record<string, unknown>
  }) => void
  resolve: (fingerprint: string, tenant: number) => void
}

/**
 * Closes breakers whose backlog has drained, forgets failures in time, and sees to it that there is an event for every
 * breaker that is not closed, and none for another: by what is, not by what changed, so that no crash leaves one behind.
 */
export class Breakers {
  constructor(private readonly options: BreakersOptions) {}

  async runOnce(): Promise<undefined> {
    const { database, metrics, raise, resolve } = this.options
    const { window_seconds, max_open_seconds } = breakerDefaults
    await database.run(settleStatement, { window_seconds, max_open_seconds })
    const rows = await database.run(openStatement, {})
    for (const { tenant, host, state, since, retry_at: retryAt, last_error: error, told } of rows) {
      if (state === null) resolve(fingerprintOf(host), tenant)
      else if (!told) {
        const detail = { state, since: isoOrNull(since), retry_at: isoOrNull(retryAt), error }
        raise({ tenant, kind: 'breaker_open', fingerprint: fingerprintOf(host), subject: host, detail })
      }
    }
    for (const state of breakerStates) {
      if (state !== 'closed') {
        metrics.breakers.set({ state }, rows.filter((row) => row.state === state).length)
      }
    }
  }
}

function fingerprintOf(host: string): string {
  return `breaker_open:${host}`
}

function isoOrNull(ms: number | null): string | null {
  return ms === null ? null : utcText(ms)
}
