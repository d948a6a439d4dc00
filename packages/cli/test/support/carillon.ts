import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const bin = fileURLToPath(new URL('../../bin/carillon.js', import.meta.url))

export interface Ended {
  code: number | null
  stdout: string
  stderr: string
}

export interface RunOptions {
  env?: Record<string, string>
  input?: string | Buffer
  cwd?: string
}

/** Runs the built command, as a person or a script would, and waits for its end. */
export function carillon(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  return run(process.execPath, [bin, ...args], options)
}

export async function run(
  program: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<Ended> {
  const child = spawn(program, args, { env: environment(options.env), cwd: options.cwd, stdio: 'pipe' })
  child.stdin.on('error', () => undefined)
  child.stdin.end(options.input)
  const [stdout, stderr, code] = await Promise.all([
    collect(child.stdout),
    collect(child.stderr),
    ended(child),
  ])
  return { code, stdout, stderr }
}

/** The same with a terminal of `columns` around it, which answers `typed`. */
export async function inTerminal(
  args: readonly string[],
  options: RunOptions & { columns?: number; typed?: string } = {},
): Promise<{ code: number | null; screen: string }> {
  const words = [process.execPath, bin, ...args].map((word) => `'${word.replaceAll("'", `'\\''`)}'`)
  const command = `stty cols ${options.columns ?? 80}; exec ${words.join(' ')}`
  const child = spawn('script', ['-qec', command, '/dev/null'], {
    env: environment({ TERM: 'xterm', ...options.env }),
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let screen = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    screen += text
    // Typed when it is asked for: what is typed ahead could be read by the shell.
    if (options.typed !== undefined && screen.includes('[y/N]')) child.stdin.end(options.typed)
  })
  const code = await ended(child)
  return { code, screen }
}

/** Exactly one line of JSON, or the test fails. */
export function jsonOf<Value>({ stdout }: Ended): Value {
  const lines = stdout.split('\n')
  if (lines.length !== 2 || lines[1] !== '')
    throw new Error(`stdout is not one line: ${JSON.stringify(stdout)}`)
  return JSON.parse(lines[0] ?? '') as Value
}

/** Without the settings of whoever runs the tests. */
function environment(more: Record<string, string> = {}): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(CARILLON_|DATABASE_URL$|NO_COLOR$|FORCE_COLOR$|NODE_OPTIONS$)/.test(name),
  )
  return { ...Object.fromEntries(inherited), TZ: 'UTC', ...more }
}

async function collect(stream: NodeJS.ReadableStream): Promise<string> {
  let text = ''
  for await (const chunk of stream.setEncoding('utf8')) text += String(chunk)
  return text
}

async function ended(child: ChildProcess): Promise<number | null> {
  const [code] = (await once(child, 'close')) as [number | null]
  return code
}

export function newFolder(): string {
  return mkdtempSync(join(tmpdir(), 'carillon-cli-'))
}

export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
}

/** Looks again and again until there is something to see. */
export async function until<Value>(look: () => Promise<Value | null>): Promise<Value> {
  const giveUpAt = performance.now() + 60_000
  while (performance.now() < giveUpAt) {
    const value = await look()
    if (value !== null) return value
  }
  throw new Error('It did not come about within a minute.')
}

export interface TestServer {
  url: string
  dataDir: string
  /** Asks it to leave; its exit code and what it wrote. */
  stop(...signals: NodeJS.Signals[]): Promise<Ended>
}

/** `carillon up` on a free port with an embedded Postgres of its own. */
export async function startServer(
  args: readonly string[] = [],
  env: Record<string, string> = {},
): Promise<TestServer> {
  const dataDir = newFolder()
  const child = spawn(
    process.execPath,
    [bin, 'up', '--port', '0', '--json', '--data-dir', dataDir, '--log-level', 'warn', ...args],
    { env: environment(env), stdio: ['ignore', 'pipe', 'pipe'] },
  )
  const end = ended(child)
  const stderr = collect(child.stderr)
  let stdout = ''
  const ready = new Promise<string>((resolve) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text
      if (stdout.includes('\n')) resolve(stdout)
    })
  })
  const first = await Promise.race([ready, end.then(() => null)])
  if (first === null) throw new Error(`carillon up ended before it was ready: ${await stderr}`)
  const { url } = JSON.parse(first) as { url: string }
  return {
    url,
    dataDir,
    async stop(...signals) {
      for (const signal of signals.length === 0 ? (['SIGTERM'] as const) : signals) child.kill(signal)
      const code = await end
      removeFolder(dataDir)
      return { code, stdout, stderr: await stderr }
    },
  }
}
