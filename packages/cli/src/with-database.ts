import type { LoadedConfig, openDatabase } from '@carillon/server'
import type { Output } from './output/output.js'
import { logFormatOf } from './settings.js'

type Database = ReturnType<typeof openDatabase>

/** Opens the Postgres of the settings, embedded or not, for the time of `work`. */
export async function withDatabase<Result>(
  config: LoadedConfig,
  output: Output,
  work: (database: Database) => Promise<Result>,
): Promise<Result> {
  const server = await import('@carillon/server')
  const log = server.createLog({ level: config.logLevel, format: logFormatOf(config) })
  const postgres = await server.openPostgres(config, log)
  try {
    if (!output.json) output.note(`Postgres: ${postgres.description}`)
    const database = server.openDatabase(config, postgres.url, log)
    try {
      return await work(database)
    } finally {
      await database.close()
    }
  } finally {
    await postgres.leave()
  }
}
