import { spawn } from 'node:child_process'

const KEPT_OUTPUT = 16_384

/** Fixed instead of inherited: PG* variables, a foreign HOME or a locale must not change what Postgres does. */
const CLEAN_ENVIRONMENT = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  HOME: '/',
  LC_ALL: 'C',
  TZ: 'UTC',
}

export interface Identity {
  readonly uid: number
  readonly gid: number
}

export interface Outcome {
  /** Null if it did not start or was ended by a signal. */
  readonly code: number | null
  readonly output: string
  /** Why it did not start at all. */
  readonly spawnError: Error | null
}

/**
 * Runs a program to its end and keeps the tail of what it said. Never rejects.
 * In a session of its own: a Ctrl-C in the terminal means us, and we drain before Postgres may go.
 */
export function runProgram(
  program: string,
  args: readonly string[],
  options: { as?: Identity; timeoutMs?: number } = {},
): Promise<Outcome> {
  const posix = process.platform !== 'win32'
  return new Promise((resolve) => {
    let output = ''
    const child = spawn(program, args, {
      // The folder we stand in may be closed to the account we become.
      ...(posix ? { cwd: '/', env: CLEAN_ENVIRONMENT, detached: true } : {}),
      ...(options.as ? { uid: options.as.uid, gid: options.as.gid } : {}),
      ...(options.timeoutMs === undefined ? {} : { timeout: Math.max(1, Math.ceil(options.timeoutMs)) }),
      windowsHide: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const keep = (chunk: Buffer): void => {
      output = (output + chunk.toString('utf8')).slice(-KEPT_OUTPUT)
    }
    child.stdout.on('data', keep)
    child.stderr.on('data', keep)
    child.once('error', (spawnError) => resolve({ code: null, output, spawnError }))
    child.once('close', (code) => resolve({ code, output, spawnError: null }))
  })
}
