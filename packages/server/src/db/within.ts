import type { Runner } from './pool.js'
import { statement } from './statement.js'

const withinStatement = statement<{ ms: string }, object>(new URL('./within.sql', import.meta.url))

/** For the rest of the transaction: no statement takes longer than this. */
export async function within(transaction: Runner, ms: number): Promise<void> {
  await transaction.run(withinStatement, { ms: String(ms) })
}
