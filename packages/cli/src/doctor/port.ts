import { createServer } from 'node:net'
import type { LoadedConfig } from '@carillon/server/config'
import { type Check, fail, ok, reasonOf, skip, warn } from './check.js'

const answerWithinMs = 3_000

/** Whether `carillon up` could listen, or a carillon does already. */
export async function checkPort(config: LoadedConfig): Promise<Check> {
  const { host, port, roles } = config
  if (!roles.includes('api') && config.provenance.port === 'default') {
    return skip('port', 'not looked at: without the api role and without --port this process does not listen')
  }
  if (port === 0) return ok('port', `any free port of ${host}`)
  const hindrance = await tryToListen(host, port)
  const address = `${host}:${port}`
  if (hindrance === null) return ok('port', `${address} is free`)
  if (hindrance !== 'EADDRINUSE') return unusable(address, hindrance)
  return judgeAnswer(address, await askWhoListens(host, port))
}

function unusable(address: string, code: string): Check {
  const todo =
    code === 'EACCES'
      ? 'Choose a port above 1023 with --port or CARILLON_PORT.'
      : 'Choose an address of this machine with --host or CARILLON_HOST.'
  return fail('port', `this process may not listen on ${address} (${code})`, todo)
}

/** Whether the server answers that the commands would ask, where one is named. */
export async function checkServer(config: LoadedConfig): Promise<Check> {
  const { url, provenance } = config
  if (provenance.url === 'default')
    return skip('server', `not looked at: neither CARILLON_URL nor a profile names one; commands ask ${url}`)
  const origin = new URL(url).origin
  const named = `${origin} (${provenance.url})`
  const answer = await askReadiness(origin)
  if ('ready' in answer && answer.ready) return ok('server', `a Carillon answers at ${named} and is ready`)
  const [says, todo] =
    'ready' in answer
      ? [`a Carillon answers at ${named} and is not ready`, `See ${origin}/readyz and its log.`]
      : [`no Carillon answers at ${named}: ${answer.stranger}`, 'Start it, or name another one.']
  return warn('server', says, todo)
}

type Answer = { readonly ready: boolean } | { readonly stranger: string }

export function judgeAnswer(address: string, answer: Answer): Check {
  if ('stranger' in answer) {
    return fail(
      'port',
      `${address} is taken by something that is not Carillon (${answer.stranger})`,
      'Stop it, or choose another port with --port or CARILLON_PORT (0 takes any free one).',
    )
  }
  if (answer.ready) return ok('port', `a Carillon answers at ${address} and is ready`)
  return warn(
    'port',
    `a Carillon answers at ${address} and is not ready: it is starting, leaving, or its database does not answer`,
    `See http://${address}/readyz and its log.`,
  )
}

/** The error code of an attempt to listen; null where it works. */
function tryToListen(host: string, port: number): Promise<string | null> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(null)))
  })
}

async function askWhoListens(host: string, port: number): Promise<Answer> {
  const reachable =
    host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : host.includes(':') ? `[${host}]` : host
  return askReadiness(`http://${reachable}:${port}`)
}

async function askReadiness(origin: string): Promise<Answer> {
  try {
    const response = await fetch(`${origin}/readyz`, {
      redirect: 'manual',
      signal: AbortSignal.timeout(answerWithinMs),
    })
    const body = (await response.json()) as { status?: unknown; checks?: unknown } | null
    const known = typeof body?.checks === 'object' && ['ready', 'not_ready'].includes(String(body.status))
    return known ? { ready: body.status === 'ready' } : { stranger: `HTTP ${response.status} from /readyz` }
  } catch (error) {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
    return { stranger: reasonOf(cause) }
  }
}
