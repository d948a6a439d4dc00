// A real Postgres of the harness's own, started without pg_ctl: its main process is a child, so that it can be stopped in
// every way, run on a clock that is stepped, and have its WAL on a disk that is filled.
import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, createWriteStream, mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { accountFor } from '../packages/server/dist/db/embedded/account.js'
import {
  copyOfBinaries,
  findBinaryPackage,
  makeSymlinks,
  programPath,
} from '../packages/server/dist/db/embedded/binaries.js'
import { joinEmbeddedPostgres } from '../packages/server/dist/db/embedded/index.js'
import { layoutBelow } from '../packages/server/dist/db/embedded/layout.js'
import { migrate } from '../packages/server/dist/db/migrate.js'
import { systemClock } from '../packages/server/dist/platform/clock.js'

const walDiskMegabytes = 400
const startWithinMs = 60_000

export class Postgres {
  child = null
  /** How often it was started again. */
  restarts = -1
  /** How many connections it takes: few enough to be used up, enough for the fleet. */
  maxConnections = 160

  /**
   * @param {{ folder: string, clock: import('./clock-shift.mjs').ShiftedClock, walDisk: boolean, isEmpty?: boolean }} options `walDisk`:
   *   put the WAL on a small disk of its own, which can be filled; `isEmpty`: leave the schema to the first process
   */
  static async make({ folder, clock, walDisk, isEmpty = false }) {
    const dataDir = join(folder, 'database')
    const made = await joinEmbeddedPostgres({ dataDir })
    const server = new Postgres()
    server.layout = layoutBelow(made.dataDir, join(made.dataDir, 'postgres'))
    server.url = made.url
    server.port = made.port
    server.clock = clock
    server.logFile = join(folder, 'postgres.log')
    await made.leave()
    server.account = await accountFor(server.layout.home)
    server.program = await server.#program()
    if (walDisk) server.walDisk = server.#mountWal(join(folder, 'wal-disk'))
    await server.start()
    if (!isEmpty) await server.with((client) => migrate(client, systemClock))
    return server
  }

  /** Where the account that Postgres runs as cannot reach the package, a copy beside the data. */
  async #program() {
    const binaries = await findBinaryPackage()
    await makeSymlinks(binaries.native)
    const found = programPath(binaries.native, 'postgres')
    if (spawnSync(found, ['--version'], { ...this.account }).status === 0) return found
    return programPath(await copyOfBinaries(binaries, this.layout.home, this.account), 'postgres')
  }

  /** The folder of the mount; null where this user may not mount, which is said aloud by whoever wants to fill it. */
  #mountWal(folder) {
    mkdirSync(folder)
    const owner = this.account === null ? [] : [`uid=${this.account.uid}`, `gid=${this.account.gid}`]
    const options = [`size=${walDiskMegabytes}m`, 'mode=0700', ...owner].join(',')
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder]).status !== 0) return null
    const wal = join(this.layout.pgdata, 'pg_wal')
    const place = join(folder, 'pg_wal')
    spawnSync('cp', ['-a', wal, place])
    rmSync(wal, { recursive: true })
    symlinkSync(place, wal)
    return folder
  }

  get running() {
    return this.child !== null
  }

  /** Answers when it accepts connections. */
  async start() {
    const settings = {
      max_connections: this.maxConnections,
      autovacuum_naptime: '5s',
      checkpoint_timeout: '60s',
      ...(this.walDisk && { max_wal_size: '128MB', min_wal_size: '80MB' }),
    }
    const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const child = spawn(this.program, ['-D', this.layout.pgdata, ...args], {
      ...this.account,
      cwd: this.layout.pgdata,
      env: { PATH: process.env.PATH, LC_ALL: 'C', ...this.clock.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const log = createWriteStream(this.logFile, { flags: 'a' })
    for (const stream of [child.stdout, child.stderr]) stream.pipe(log, { end: false })
    this.child = child
    this.exited = new Promise((resolve) => child.once('exit', resolve))
    child.once('exit', () => {
      log.end()
      if (this.child === child) this.child = null
    })
    await this.accepts(startWithinMs)
    this.restarts += 1
  }

  /** Waits until a connection is taken. */
  async accepts(withinMs) {
    for (const end = Date.now() + withinMs; ; await wait(20)) {
      if (this.child === null) throw new Error(`Postgres ended: see ${this.logFile}`)
      try {
        return await this.with(() => undefined)
      } catch (error) {
        if (Date.now() > end) throw error
      }
    }
  }

  /** @param {'fast' | 'immediate'} mode `immediate`: as if its processes had crashed */
  async stop(mode) {
    this.child?.kill(mode === 'fast' ? 'SIGINT' : 'SIGQUIT')
    await this.exited
  }

  /** @template Result @param {(client: pg.Client) => Promise<Result> | Result} work */
  async with(work) {
    const client = await this.connect()
    try {
      return await work(client)
    } finally {
      await client.end().catch(() => undefined)
    }
  }

  /** A connection of the harness's own, around the doors. */
  async connect() {
    const client = new pg.Client({
      connectionString: this.url,
      application_name: 'chaos',
      connectionTimeoutMillis: 5_000,
      types: numbers,
    })
    client.on('error', () => undefined)
    await client.connect()
    return client
  }

  async close() {
    if (this.child !== null) await this.stop('fast')
    if (this.walDisk) spawnSync('umount', [this.walDisk])
  }
}

const int8 = 20
/** All our bigints are milliseconds, keys and counters: exact as numbers. */
const numbers = {
  getTypeParser: (oid, format) => (oid === int8 ? Number : pg.types.getTypeParser(oid, format)),
}

/** Postgres' account must get through to what lies below. @param {string} folder */
export function openToAll(folder) {
  chmodSync(folder, 0o755)
}
