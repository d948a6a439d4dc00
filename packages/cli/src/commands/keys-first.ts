import { Command } from 'commander'
import { outputOf, withJson } from '../output/output.js'
import { settingsOf, withSettings } from '../settings.js'
import { withDatabase } from '../with-database.js'
import { revealed } from './revealed-key.js'

/**
 * `carillon keys first`: an admin key straight in the database. A server that is open to the network does not start without
 * one, and only a server could make one otherwise. Whoever may write to the database may do this.
 */
export function keysFirstCommand(): Command {
  const command = new Command('first')
    .description('Make an admin key straight in the database, before a server can be asked for one')
    .argument('<name>', 'for people')
  withSettings(withJson(command), 'server', ['dataDir', 'logLevel', 'logFormat'])
  command.action(async (name: string) => {
    const output = outputOf(command)
    const { createKey, migrateDatabase } = await import('@carillon/server')
    const made = await withDatabase(settingsOf(command), output, async (database) => {
      await migrateDatabase(database)
      return createKey(database, { name, role: 'admin' })
    })
    revealed(made, output)
  })
  return command
}
