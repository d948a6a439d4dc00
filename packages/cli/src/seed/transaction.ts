import type { Client } from 'pg'

export async function transaction(client: Client, work: () => Promise<void>): Promise<void> {
  await client.query('BEGIN')
  try {
    await work()
    await client.query('COMMIT')
  } catch (error) {
    // A connection that is gone has rolled back already.
    await client.query('ROLLBACK').catch(() => undefined)
    throw error
  }
}
