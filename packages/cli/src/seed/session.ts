import pg from 'pg'

/** A connection of its own for work that takes minutes: only what it waits for has a limit. */
export async function withSession<Result>(
  url: string,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'carillon bench seed',
    connectionTimeoutMillis: 5_000,
    statement_timeout: 0,
    idle_in_transaction_session_timeout: 0,
    lock_timeout: 10_000,
    options: '-c jit=off',
    keepAlive: true,
  })
  // Its user learns of a loss by its next query; an error nobody listens to would end the process.
  client.on('error', () => undefined)
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end().catch(() => undefined)
  }
}
