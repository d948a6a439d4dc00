import type { RunningServer } from '@carillon/server'
import type { LoadedConfig } from '@carillon/server/config'
import { Command } from 'commander'
import { outputOf } from '../output/output.js'
import { visible } from '../output/visible.js'
import { logFormatOf, settingsOf, withSettings } from '../settings.js'

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
    output.result(
      { ready: true, url, pid: process.pid, version, tasks, commands: config.allowCommands },
      () => banner(server, version, config, took),
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

function banner(
  server: RunningServer,
  version: string,
  { roles, allowCommands }: Pick<LoadedConfig, 'roles' | 'allowCommands'>,
  tookMs: number,
): string {
  const tasks = server.tasks.map(visible).join(', ')
  const lines = [
    '',
    `  Carillon ${version} is ready (${roles.join(', ')}; ${(tookMs / 1000).toFixed(1)} s)`,
    '',
    ...(server.url === null
      ? []
      : [`  Dashboard   ${server.url}/`, `  API         ${server.url}/api/v1/openapi.json`]),
    `  Postgres    ${visible(server.postgres)}`,
    `  Reach       ${visible(server.reach)}`,
    `  Tasks       ${tasks === '' ? 'none (load some with --tasks FILE)' : tasks}`,
    `  Commands    ${allowCommands ? 'allowed: jobs may run programs of this machine' : 'not allowed (--allow-commands lets jobs run programs)'}`,
    ...(server.url === null || !roles.includes('api') ? [] : tryThis(server.url)),
    '',
  ]
  return `${lines.join('\n')}\n`
}

function tryThis(url: string): string[] {
  return [
    '',
    '  Try: a job that calls this very server every minute, then what became of its ticks',
    `    npx carillon jobs create ping --schedule '* * * * *' --http ${url}/healthz --method GET`,
    '    npx carillon runs list ping',
  ]
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
