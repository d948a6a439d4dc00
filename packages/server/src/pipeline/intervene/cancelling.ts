import { CarillonError } from '@carillon/contract'
import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import type { RunIdentity } from '../../platform/ids.js'
import { audit } from '../audit.js'
import { identityOf } from './identity.js'

const cancelStatement = statement<{ tenant: number } & RunIdentity, { answer: 'ended' | 'asked' | 'behind' }>(
  new URL('./cancel-run.sql', import.meta.url),
)

/** Cancels single runs on a person's request. */
export class Cancelling {
  constructor(private readonly database: Database) {}

  /**
   * `ended`: nobody held it, and it will not start. `asked`: its worker was told to stop it and writes the outcome. Null:
   * no such run is in flight.
   */
  async cancel(tenant: number, runId: string): Promise<'ended' | 'asked' | null> {
    const name = { tenant, ...identityOf(runId, 'run_not_found') }
    const [row] = await this.database.transaction(async (runner) => {
      const rows = await runner.run(cancelStatement, name)
      const answer = rows[0]?.answer
      if (answer === 'ended' || answer === 'asked')
        await audit(runner, { tenant, subject: runId, detail: { answer } })
      return rows
    })
    if (row === undefined) return null
    if (row.answer !== 'behind') return row.answer
    throw new CarillonError('run_ahead', {
      detail: 'The time of this run has not come, and an earlier run of its job is still ahead.',
    })
  }
}
