import { randomUUID } from 'node:crypto'
import { appendFile, open, readFile, rename, statfs } from 'node:fs/promises'
import { totalmem } from 'node:os'
import { join } from 'node:path'
import type { Layout } from './layout.js'
import { SETTINGS_FILE } from './layout.js'
import type { Identity } from './run-program.js'

const MB = 1024 * 1024
const GB = 1024 * MB

/** What the settings depend on. */
export interface Surroundings {
  readonly port: number
  readonly memoryBytes: number
  readonly freeDiskBytes: number
  readonly logFolder: string
  readonly linux: boolean
  /** Postgres' parallel queries share memory through /dev/shm, which a container often keeps tiny. */
  readonly roomyDevShm: boolean
}

export async function lookAround(layout: Layout, port: number): Promise<Surroundings> {
  const disk = await statfs(layout.home)
  const shm = await statfs('/dev/shm').catch(() => null)
  // A container's limit; 0 or a huge number where there is none.
  const limit = process.constrainedMemory()
  return {
    port,
    memoryBytes: limit > 0 ? Math.min(totalmem(), limit) : totalmem(),
    freeDiskBytes: disk.bavail * disk.bsize,
    logFolder: layout.logs,
    linux: process.platform === 'linux',
    roomyDevShm: shm !== null && shm.blocks * shm.bsize >= 256 * MB,
  }
}

/** The settings of ours, in the order of the file. */
export function settingsFor(at: Surroundings): [name: string, value: string | number][] {
  const sharedBuffers = clamp(at.memoryBytes / 4, 128 * MB, 2 * GB)
  const maxWal = clamp(at.freeDiskBytes / 10, 256 * MB, 4 * GB)
  return [
    ['listen_addresses', '127.0.0.1'],
    ['port', at.port],
    // No Unix socket: its path would have to fit into about 100 characters.
    ['unix_socket_directories', ''],
    ['max_connections', 200],
    ['password_encryption', 'scram-sha-256'],
    ['tcp_keepalives_idle', '60s'],
    ['tcp_keepalives_interval', '10s'],
    ['tcp_keepalives_count', 6],
    // A connection that sets it for itself keeps the time it began with until that is over once.
    ...(at.linux ? ([['client_connection_check_interval', '100ms']] as [string, string][]) : []),

    ['fsync', 'on'],
    ['synchronous_commit', 'on'],
    ['full_page_writes', 'on'],
    ['wal_compression', 'on'],
    ['max_wal_size', megabytes(maxWal)],
    ['min_wal_size', megabytes(Math.max(maxWal / 8, 80 * MB))],
    ['checkpoint_timeout', '10min'],

    ['shared_buffers', megabytes(sharedBuffers)],
    ['effective_cache_size', megabytes(Math.max(at.memoryBytes * 0.6, sharedBuffers))],
    ['work_mem', '8MB'],
    ['maintenance_work_mem', megabytes(clamp(at.memoryBytes / 16, 64 * MB, 256 * MB))],
    ...(at.linux
      ? ([['dynamic_shared_memory_type', at.roomyDevShm ? 'posix' : 'mmap']] as [string, string][])
      : []),
    ['random_page_cost', '1.1'],
    ['jit', 'off'],

    // Queue tables turn over quickly: small and frequent vacuums keep them small.
    ['autovacuum', 'on'],
    ['autovacuum_naptime', '15s'],
    ['autovacuum_vacuum_scale_factor', '0.05'],
    ['autovacuum_vacuum_cost_limit', 1000],

    ['timezone', 'UTC'],
    ['log_timezone', 'UTC'],
    ['lc_messages', 'C'],

    ['logging_collector', 'on'],
    ['log_destination', 'stderr'],
    ['log_directory', at.logFolder],
    ['log_filename', 'postgresql-%Y%m%d-%H%M%S.log'],
    ['log_rotation_age', '1d'],
    ['log_rotation_size', '10MB'],
    // With the SQLSTATE, by which a failed start is explained. Statements may carry payloads: they stay out.
    ['log_line_prefix', '%m [%p] %e '],
    ['log_min_error_statement', 'panic'],
  ]
}

/** Written anew at every cold start, so that a newer carillon's settings take effect. ALTER SYSTEM still overrides. */
export async function writeSettings(
  layout: Layout,
  at: Surroundings,
  account: Identity | null,
): Promise<void> {
  const lines = settingsFor(at).map(([name, value]) => `${name} = ${quoted(value)}`)
  const text = `# Carillon writes this file at every start of its Postgres: changes here are lost.\n${lines.join('\n')}\n`
  await replaceFile(layout.settingsFile, text, account)
  const main = join(layout.pgdata, 'postgresql.conf')
  const include = `include_if_exists = '${SETTINGS_FILE}'`
  const present = (await readFile(main, 'utf8')).split('\n').some((line) => line.trim() === include)
  if (!present) await appendFile(main, `\n${include}\n`)
}

/** The port of the last start: members that outlived their Postgres find it again there. */
export async function lastPort(layout: Layout): Promise<number | null> {
  const text = await readFile(layout.settingsFile, 'utf8').catch(() => '')
  const port = /^port = (\d+)$/m.exec(text)?.[1]
  return port === undefined ? null : Number(port)
}

/** Whole or not at all, on disk before it counts, and readable by nobody but its owner (and root). */
export async function replaceFile(path: string, text: string, account: Identity | null): Promise<void> {
  const temporary = `${path}.${randomUUID()}`
  const file = await open(temporary, 'wx', 0o600)
  try {
    await file.writeFile(text)
    if (account) await file.chown(account.uid, account.gid)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(temporary, path)
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most)
}

function megabytes(bytes: number): string {
  return `${Math.floor(bytes / MB)}MB`
}

function quoted(value: string | number): string {
  return typeof value === 'number' ? String(value) : `'${value.replaceAll("'", "''")}'`
}
