import { createClient } from '@carillon/sdk'
import { Command } from 'commander'
import { outputOf } from '../output/output.js'
import { logFormatOf, settingsOf, withSettings } from '../settings.js'
import { banner } from '../views/banner.js'

/** `carillon up`: starts the roles of this process and stays until it is told to stop. */
export function upCommand(): Command {
  const command = new Command('up')
    .description('Start a server: API, scheduler and worker in one process, or the roles you name')
    .option('--json', 'print one line of JSON on stdout once it is ready; everything else goes to stderr')
  withSettings(command, 'server')
  command.action(async () => {
    const output = outputOf(command)
    const config = settingsOf(command)
    const signals = listenForSignals()
    const { createLog, startServer, version } = await import('@carillon/server')
    const log = createLog({ level: config.logLevel, format: logFormatOf(config) })
    const listenAnyway = config.provenance.port !== 'default'
    const starting = performance.now()
    const server = await startServer({ config, log, listenAnyway })
    const took = performance.now() - starting
    const { url, tasks } = server
    const { roles, allowCommands } = config
    const isFirst = !output.json && url !== null && roles.includes('api') && (await isNew(url))
    output.result({ ready: true, url, pid: process.pid, version, tasks, commands: allowCommands }, () =>
      banner({ ...server, version, roles, allowCommands, tookMs: took, isFirst }),
    )
    await signals.first
    log.info(
      { within_s: config.drainSeconds },
      'stopping: finishing runs under way; a second signal stops at once',
    )
    await server.stop()
    log.info('stopped')
    // A task that ignored its signal may keep the process alive. Unreferenced: otherwise the process ends by itself.
    setTimeout(() => process.exit(0), lingerMs).unref()
  })
  return command
}

const lingerMs = 500

/** Whether to show how to begin. A server that asks for a key is past that. */
async function isNew(url: string): Promise<boolean> {
  try {
    const { data } = await createClient({ url, maxRetries: 0 }).jobs.list({ limit: 1 })
    return data.length === 0
  } catch {
    return false
  }
}

/** npx and npm pass a signal on to a process that the terminal has signalled as well: one wish, heard twice. */
const echoMs = 500

/** The first signal drains; a second one ends the process at once, for people who cannot wait. */
function listenForSignals(): { first: Promise<void> } {
  let firstAt: number | null = null
  return {
    first: new Promise((resolve) => {
      for (const signal of ['SIGINT', 'SIGTERM'] as const) {
        process.on(signal, () => {
          if (firstAt === null) firstAt = performance.now()
          else if (performance.now() - firstAt > echoMs) process.exit(130)
          resolve()
        })
      }
    }),
  }
}
