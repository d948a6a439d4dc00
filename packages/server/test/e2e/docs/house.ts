import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { createClient, type Client } from '@carillon/sdk'
import pg from 'pg'
import { migrate } from '../../../src/db/migrate.js'
import { systemClock } from '../../../src/platform/clock.js'
import { Carillon, temporaryFolder, until } from '../support/carillon.js'
import { root } from './blocks.js'

/** What a page finds: a server of its own, a folder, and the programs that it calls. */
export interface House {
  readonly url: string
  readonly client: Client
  readonly databaseUrl: string
  readonly folder: string
  /** What pages have in capitals, in braces or with …, and what it stands for here. */
  readonly placeholders: Map<string, string>
  write(this: void, file: string, text: string): string
  query(this: void, text: string): Promise<void>
  start(program: string, args: readonly string[], env?: Record<string, string>): Running
  close(): Promise<void>
}

export interface HouseOptions {
  name: string
  postgresUrl: string
  args: readonly string[]
  env: Record<string, string>
  /** The page itself starts the server. */
  byThePage: boolean
  /** Programs of the reader's machine that are not there in a test: name to a line of shell. */
  programs: Record<string, string>
}

export async function openHouse(options: HouseOptions): Promise<House> {
  const temporary = temporaryFolder()
  const folder = temporary.path
  const started: Running[] = []
  const databaseUrl = await ownDatabase(options.postgresUrl, options.name)
  const server = options.byThePage
    ? null
    : await Carillon.up({ args: [...options.args], env: { DATABASE_URL: databaseUrl, ...options.env } })
  const url = server?.url ?? `http://127.0.0.1:${await freePort()}`
  const bin = join(folder, '.programs')
  putPrograms(bin, options.programs)
  const home = join(folder, 'home')
  mkdirSync(home)
  const environment = environmentOf(bin, folder, url)
  return {
    url,
    client: createClient({ url }),
    databaseUrl,
    folder: home,
    placeholders: new Map(),
    write(file, text) {
      const path = join(home, file)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, text)
      return path
    },
    query: (text) => onDatabase(databaseUrl, text),
    start(program, args, env = {}) {
      const running = new Running(
        spawn(program, args, { cwd: home, env: { ...environment, ...env }, detached: true }),
      )
      started.push(running)
      return running
    },
    async close() {
      for (const running of started) await running.end('SIGTERM')
      await server?.terminate()
      temporary.remove()
    },
  }
}

/** A program of a page, with all that it starts, and what it has printed so far. */
export class Running {
  output = ''
  readonly ended: Promise<number>

  constructor(private readonly child: ChildProcess) {
    const add = (chunk: Buffer) => {
      this.output += chunk.toString()
    }
    child.stdout?.on('data', add)
    child.stderr?.on('data', add)
    this.ended = once(child, 'close').then(([code, signal]) => (signal === null ? Number(code) : 128))
  }

  type(text: string): void {
    this.child.stdin?.on('error', () => undefined)
    this.child.stdin?.end(text)
  }

  async printed(what: RegExp): Promise<void> {
    const done = () => what.test(this.output) || this.child.exitCode !== null
    await until(`${what} is printed`, done).catch(() => undefined)
    if (!what.test(this.output)) throw new Error(`Instead of ${what} it printed:\n${this.output}`)
  }

  /** To the group of processes: a shell's own end would leave behind what it has started. */
  async end(signal: NodeJS.Signals): Promise<number> {
    const { pid, exitCode, signalCode } = this.child
    if (pid !== undefined && exitCode === null && signalCode === null) process.kill(-pid, signal)
    return this.ended
  }
}

function environmentOf(bin: string, folder: string, url: string): NodeJS.ProcessEnv {
  const foreign = /^(CARILLON_|DATABASE_URL$|NO_COLOR$|FORCE_COLOR$|NODE_OPTIONS$|VITEST|XDG_)/
  const inherited = Object.entries(process.env).filter(([name]) => !foreign.test(name))
  return {
    ...Object.fromEntries(inherited),
    PATH: `${bin}:${process.env['PATH'] ?? ''}`,
    HOME: folder,
    TZ: 'UTC',
    CARILLON_URL: url,
    CARILLON_PORT: new URL(url).port,
  }
}

/** `npm` and `npx` as they are in a checkout, without their own start and without touching it. */
function putPrograms(bin: string, more: Record<string, string>): void {
  const node = `'${process.execPath}'`
  const curl = execFileSync('sh', ['-c', 'command -v curl']).toString().trim()
  const carillon = `exec ${node} '${join(root, 'packages/cli/bin/carillon.js')}'`
  const programs = {
    carillon: `${carillon} "$@"`,
    npx: `[ "$1" = carillon ] && shift && ${carillon} "$@"; echo "npx $*: not in this test" >&2; exit 127`,
    npm: `[ "$1 $2" = 'start --' ] && shift 2 && exec ${node} '${join(root, 'scripts/start.mjs')}' "$@"; echo "npm $*: not in this test" >&2; exit 127`,
    // An error that a server answers is a failure here, as it is to a reader.
    curl: `exec ${curl} --fail-with-body "$@"`,
    ...more,
  }
  mkdirSync(bin, { recursive: true })
  for (const [name, line] of Object.entries(programs)) {
    writeFileSync(join(bin, name), `#!/bin/sh\n${line}\n`)
    chmodSync(join(bin, name), 0o755)
  }
}

const template = 'page_template'

/** Migrates once what every page gets a copy of. */
export async function makeTemplate(postgresUrl: string): Promise<void> {
  await onDatabase(postgresUrl, `CREATE DATABASE ${template}`)
  const client = new pg.Client({ connectionString: urlOf(postgresUrl, template) })
  await client.connect()
  try {
    await migrate(client, systemClock)
  } finally {
    await client.end()
  }
}

async function ownDatabase(postgresUrl: string, name: string): Promise<string> {
  await onDatabase(postgresUrl, `CREATE DATABASE ${name} TEMPLATE ${template}`)
  return urlOf(postgresUrl, name)
}

function urlOf(postgresUrl: string, database: string): string {
  const url = new URL(postgresUrl)
  url.pathname = `/${database}`
  return url.href
}

export async function onDatabase(url: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(text)
  } finally {
    await client.end()
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('No port was given.')
  return address.port
}
