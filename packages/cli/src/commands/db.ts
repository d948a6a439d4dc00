import { Command } from 'commander'
import { outputOf, withJson } from '../output/output.js'
import { visible } from '../output/visible.js'
import { settingsOf, withSettings } from '../settings.js'

/** `carillon db`: the way into the database itself. */
export function dbCommand(): Command {
  return new Command('db')
    .description('The Postgres that holds everything: how to connect to it')
    .addCommand(urlCommand())
}

/** `carillon db url`: for psql, and for programs that enqueue inside their own transaction. */
function urlCommand(): Command {
  const command = new Command('url').description(
    'Print the connection string of the Postgres of the settings, with its password: of the embedded one while it runs',
  )
  withSettings(withJson(command), 'server', ['dataDir'])
  command.action(async () => {
    const output = outputOf(command)
    const { databaseUrl, dataDir } = settingsOf(command)
    const url = databaseUrl ?? (await embeddedUrl(dataDir))
    output.result({ url }, () => `${url}\n`)
    output.note('It holds a password, and whoever has it may do everything: keep it out of logs and files.')
  })
  return command
}

async function embeddedUrl(dataDir: string): Promise<string> {
  const { findRunningPostgres } = await import('@carillon/server')
  const state = await findRunningPostgres(dataDir)
  if (state.kind === 'running') return state.url
  const what = state.kind === 'none' ? 'holds no Postgres' : `has a Postgres that is ${state.kind}`
  throw new Error(
    `The data folder ${visible(dataDir)} ${what}. It runs as long as a server does: start one with carillon up, or name ` +
      'the folder of the one that runs with --data-dir.',
  )
}
