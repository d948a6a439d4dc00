import type { Runner } from './pool.js'
import { statement } from './statement.js'

const byIndexStatement = statement<Record<string, never>, object>(new URL('./by-index.sql', import.meta.url))

/** For the rest of the transaction: by index, wherever there is one. For the ledger's day of today, which has no statistics. */
export async function byIndex(transaction: Runner): Promise<void> {
  await transaction.run(byIndexStatement, {})
}
