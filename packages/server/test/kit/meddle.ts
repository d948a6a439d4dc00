import type { Database } from '../../src/db/pool.js'

type Rows = object[]
/** Called with the file name of a statement, without its ending. `send` sends it; what is answered goes to the caller. */
export type Hand = (name: string, send: () => Promise<Rows>) => Promise<Rows>

/** Puts a hand between a node and its database: it may delay, lose, or change one call. Answers how to take it away. */
export function meddle(database: Database, hand: Hand): () => void {
  const run = database.run.bind(database)
  database.run = (statement, params) => {
    const name = statement.name.replace(/_[0-9a-f]{8}$/, '')
    return hand(name, () => run(statement, params)) as Promise<never>
  }
  return () => {
    database.run = run
  }
}

/** Meddles with the calls of one statement only. */
export function meddleWith(
  database: Database,
  name: string,
  hand: (send: () => Promise<Rows>) => Promise<Rows>,
) {
  return meddle(database, (called, send) => (called === name ? hand(send) : send()))
}

/**
 * Lets a node believe that the database server started so long ago. A real restart would end the sessions of every
 * other test, and a server that was just started for the tests is as young as they are.
 */
export function pretendServerAge(database: Database, ageMs: number): () => void {
  return meddleWith(database, 'peers', async (send) =>
    (await send()).map((row) => ({ ...row, server_age_ms: ageMs })),
  )
}
