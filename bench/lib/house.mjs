// The databases of a benchmark, started here and gone with it. Everybody shares one Postgres with the settings that the
// product gives its own (durable: fsync and synchronous_commit on), in a database of their own.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { joinEmbeddedPostgres } from '../../packages/server/dist/db/embedded/index.js'
import { MemoryFiller } from './memory.mjs'
import { progress } from './progress.mjs'
import { startRedis } from './redis.mjs'
import { touchBuffers } from './touch-buffers.mjs'

/**
 * Opens the house, lets `work` use it, and clears everything away, whatever happens. `quick`: a smoke run. `workers`: further processes that
 * run tasks. `profile`: a folder for CPU profiles of ours and for what its statements cost. `fillMemory`: before each turn (lib/memory.mjs).
 */
export async function inHouse(work, { quick = false, workers = 0, profile, fillMemory = false } = {}) {
  const house = Object.assign(new House(), { quick, workers, profile })
  if (fillMemory) house.fillMemoryFrom(join(house.folder, 'nothing'))
  const clear = () => void house.close().finally(() => process.exit(130))
  process.once('SIGINT', clear).once('SIGTERM', clear)
  try {
    return await work(house)
  } finally {
    process.off('SIGINT', clear).off('SIGTERM', clear)
    await house.close()
  }
}

class House {
  folder = mkdtempSync(join(tmpdir(), 'carillon-bench-'))
  /** Of the Redis that was needed, if one was. */
  redisVersion
  #closing = []
  #postgres
  #redis
  #ended
  #filler

  fillMemoryFrom(path) {
    this.#filler = new MemoryFiller(path)
    this.#closing.push(async () => this.#filler.close())
  }

  /** Whatever is to be ended with the house: processes first, then databases. */
  atEnd(work) {
    this.#closing.unshift(work)
    return () => {
      this.#closing = this.#closing.filter((each) => each !== work)
      return work()
    }
  }

  async postgres() {
    this.#postgres ??= this.#startPostgres()
    return this.#postgres
  }

  async redis() {
    await this.#fillMemory()
    this.#redis ??= startRedis(join(this.folder, 'redis')).then((redis) => {
      this.atEnd(() => redis.end())
      this.redisVersion = redis.version
      return redis
    })
    return this.#redis
  }

  /** An empty database; what was in one of that name is gone. */
  async freshDatabase(name) {
    const { admin, url } = await this.postgres()
    await this.#drop(name)
    await this.#fillMemory()
    await admin.query(['CREATE DATABASE', pg.escapeIdentifier(name)].join(' '))
    await admin.query('CHECKPOINT')
    const own = new URL(url)
    own.pathname = `/${name}`
    return own.href
  }

  async dropDatabase(name) {
    if (this.#postgres !== undefined) await this.#drop(name)
  }

  close() {
    this.#ended ??= this.#close()
    return this.#ended
  }

  /** What the turn before gave back is free again. */
  async #fillMemory() {
    if (this.#filler === undefined) return
    progress('filling free memory, whose pages are dear here')
    await this.#filler.fill()
  }

  async #startPostgres() {
    progress('starting Postgres')
    const dataDir = join(this.folder, 'data')
    let embedded = await joinEmbeddedPostgres({ dataDir })
    if (this.profile !== undefined) embedded = await countingStatements(embedded, dataDir)
    const admin = new pg.Client({ connectionString: embedded.url })
    admin.on('error', () => undefined)
    await admin.connect()
    this.#closing.push(async () => {
      await admin.end()
      await embedded.leave()
    })
    if (this.#filler !== undefined) {
      await this.#fillMemory()
      progress("touching Postgres' own memory, whose pages are dear here")
      await touchBuffers({ url: embedded.url, admin })
    }
    const { rows } = await admin.query('SELECT pg_backend_pid() AS pid, version() AS version')
    return { url: embedded.url, admin, version: embedded.serverVersion, pid: parentOf(rows[0].pid) }
  }

  async #drop(name) {
    const { admin } = await this.postgres()
    await admin.query(['DROP DATABASE IF EXISTS', pg.escapeIdentifier(name), 'WITH (FORCE)'].join(' '))
  }

  async #close() {
    for (const work of this.#closing) await work().catch(() => undefined)
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** Once more, with the library that counts what each statement costs. */
async function countingStatements(embedded, dataDir) {
  const client = new pg.Client({ connectionString: embedded.url })
  await client.connect()
  await client.query("ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'")
  await client.end()
  await embedded.leave()
  return joinEmbeddedPostgres({ dataDir })
}

/** Postgres' first process, whose children are all the others. */
function parentOf(pid) {
  try {
    const line = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return Number(line.slice(line.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    return pid
  }
}
