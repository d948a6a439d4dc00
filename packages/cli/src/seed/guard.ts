import { isLoopback } from '@carillon/server/config'
import type { Client } from 'pg'
import { seedOwner } from './options.js'

/** A process that was silent for longer has gone without a word. */
const goneMs = 15_000
/** What a seeded job takes with its timer, with all indexes, and what loading it needs on the way. */
const bytesPerJob = 1_500

/** Where a database is, for people; null where that is this machine. */
export function farHost(databaseUrl: string): string | null {
  const url = new URL(databaseUrl)
  const host = (url.searchParams.get('host') ?? decodeURIComponent(url.hostname)).replace(/^\[|\]$/g, '')
  // A path is a socket of this machine.
  return host === '' || host.startsWith('/') || isLoopback(host) ? null : host
}

/** The name of a live job that was not seeded, if there is one: whoever has such a database hardly wants millions more. */
export async function jobOfOthers(client: Client): Promise<string | null> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT name FROM carillon.jobs
     WHERE state IN ('active', 'paused') AND managed_by IS DISTINCT FROM $1 LIMIT 1`,
    [seedOwner],
  )
  return rows[0]?.name ?? null
}

export function liveNodes(processes: readonly { node: string; silent_ms: number }[]): string[] {
  return processes.filter(({ silent_ms: silent }) => silent < goneMs).map(({ node }) => node)
}

/** Refuses what would fill the disk: Postgres stops when there is no room left. */
export function checkRoom(count: number, freeBytes: number): void {
  const needed = count * bytesPerJob
  if (needed < freeBytes) return
  const gib = (bytes: number) => (bytes / 2 ** 30).toFixed(1)
  throw new Error(
    `${count.toLocaleString('en')} jobs need about ${gib(needed)} GiB, and ${gib(freeBytes)} GiB are free there. ` +
      'Seed fewer (--n), or name a folder on a larger disk with --data-dir.',
  )
}
