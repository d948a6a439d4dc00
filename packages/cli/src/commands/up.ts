import { createLog, type RunningServer, startServer, version } from '@carillon/server'
import { Command } from 'commander'
import { settingsOf, withSettings } from '../settings.js'

/** `carillon up`: starts the roles of this process and stays until it is told to stop. */
export function upCommand(): Command {
  const command = new Command('up')
    .description('Start a server: API, scheduler and worker in one process, or the roles you name')
    .option('--json', 'print one line of JSON on stdout once it is ready; everything else goes to stderr')
  withSettings(command, 'server')
  command.action(async () => {
    const config = settingsOf(command)
    const json = command.opts<{ json?: boolean }>().json ?? false
    const format = config.logFormat === 'auto' ? (process.stderr.isTTY ? 'pretty' : 'json') : config.logFormat
    const log = createLog({ level: config.logLevel, format })
    const signals = listenForSignals()
    const listenAnyway = config.provenance.port !== 'default'
    const starting = performance.now()
    const server = await startServer({ config, log, listenAnyway })
    const took = performance.now() - starting
    process.stdout.write(json ? readyLine(server) : banner(server, config.roles, took))
    await signals.first
    log.info(
      { within_s: config.drainSeconds },
      'stopping: finishing runs under way; a second signal stops at once',
    )
    await server.stop()
    log.info('stopped')
  })
  return command
}

function readyLine(server: RunningServer): string {
  return `${JSON.stringify({ ready: true, url: server.url, pid: process.pid, version, tasks: server.tasks })}\n`
}

function banner(server: RunningServer, roles: readonly string[], tookMs: number): string {
  const lines = [
    '',
    `  Carillon ${version} is ready (${roles.join(', ')}; ${(tookMs / 1000).toFixed(1)} s)`,
    '',
    ...(server.url === null
      ? []
      : [`  Dashboard   ${server.url}/`, `  API         ${server.url}/api/v1/openapi.json`]),
    `  Postgres    ${server.postgres}`,
    `  Tasks       ${server.tasks.length > 0 ? server.tasks.join(', ') : 'none (load some with --tasks FILE)'}`,
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

/** The first signal drains; a second one ends the process at once, for people who cannot wait. */
function listenForSignals(): { first: Promise<void> } {
  let count = 0
  return {
    first: new Promise((resolve) => {
      for (const signal of ['SIGINT', 'SIGTERM'] as const) {
        process.on(signal, () => {
          count += 1
          if (count > 1) process.exit(130)
          resolve()
        })
      }
    }),
  }
}
