import { statfs } from 'node:fs/promises'
import type { Layout } from './layout.js'

const FULL_BELOW_BYTES = 200 * 1024 * 1024

/** What the SQLSTATE of Postgres' last words means for a person. */
const HINTS: ReadonlyMap<string, string> = new Map([
  ['53100', 'The disk is full: make room, then start again.'],
  ['53200', 'There is not enough memory: end other programs, or give the container more.'],
  ['42501', 'Permissions: every file of the data folder must belong to the user Postgres runs as.'],
  ['F0000', 'A setting is wrong: look into postgresql.conf and postgresql.auto.conf of the data folder.'],
  ['F0001', 'Another Postgres still uses the data folder: end it, then start again.'],
  ['XX001', 'The data folder is damaged: restore it from a backup.'],
])

/** The SQLSTATE of the last line in which Postgres gave up. Our log prefix puts it before the severity. */
export function lastSqlState(lines: readonly string[]): string | undefined {
  const last = lines.findLast((line) => / (?:FATAL|PANIC): /.test(line))
  return last === undefined ? undefined : / ([0-9A-Z]{5}) (?:FATAL|PANIC): /.exec(last)?.[1]
}

/** Begins with a space, or is empty. */
export async function startHint(layout: Layout, lines: readonly string[]): Promise<string> {
  const known = HINTS.get(lastSqlState(lines) ?? '')
  return known ? ` ${known}` : diskHint(layout)
}

/** Begins with a space, or is empty. */
export async function diskHint(layout: Layout): Promise<string> {
  const disk = await statfs(layout.home).catch(() => null)
  if (!disk || disk.bavail * disk.bsize >= FULL_BELOW_BYTES) return ''
  const left = Math.floor((disk.bavail * disk.bsize) / 1024 / 1024)
  return ` The disk is nearly full (${left} MB left): make room, then start again.`
}
