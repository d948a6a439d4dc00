import type { RunningServer } from '@carillon/server'
import { visible } from '../output/visible.js'

export interface Started extends Pick<RunningServer, 'url' | 'postgres' | 'reach' | 'tasks'> {
  readonly version: string
  readonly roles: readonly string[]
  readonly allowCommands: boolean
  readonly tookMs: number
  /** No job is there yet, and it can be asked. */
  readonly isFirst: boolean
}

/** What a server says once it is ready. */
export function banner(server: Started): string {
  const { url, version, roles, tookMs } = server
  const tasks = server.tasks.map(visible).join(', ')
  const commands = server.allowCommands
    ? 'allowed: jobs may run programs of this machine'
    : 'not allowed (--allow-commands lets jobs run programs)'
  const lines = [
    '',
    `  Carillon ${version} is ready (${roles.join(', ')}; ${(tookMs / 1000).toFixed(1)} s)`,
    '',
    ...(url === null ? [] : [`  Dashboard   ${url}/`, `  API         ${url}/api/v1/openapi.json`]),
    `  Postgres    ${visible(server.postgres)}`,
    `  Reach       ${visible(server.reach)}`,
    `  Tasks       ${tasks === '' ? 'none (load some with --tasks FILE)' : tasks}`,
    `  Commands    ${commands}`,
    ...(url === null || !server.isFirst ? [] : tryThis(url)),
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
