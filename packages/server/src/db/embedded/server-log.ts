import { open, readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Layout } from './layout.js'

/** With the rotation size of the settings this bounds the server log to about 100 MB. */
const KEPT_FILES = 10
const TAIL_BYTES = 8_192
const TAIL_LINES = 20

/** How far the server log had come at some moment. */
export interface LogMark {
  readonly file: string
  readonly size: number
}

/** Postgres rotates its log and deletes nothing; names sort by time. Members do this side by side. */
export async function pruneLogs(layout: Layout): Promise<void> {
  const files = await logFiles(layout)
  for (const file of files.slice(0, -KEPT_FILES)) await rm(join(layout.logs, file), { force: true })
}

export async function markLog(layout: Layout): Promise<LogMark> {
  const file = (await logFiles(layout)).at(-1) ?? ''
  const size = file ? (await stat(join(layout.logs, file))).size : 0
  return { file, size }
}

/** The last lines a failed start wrote: first those from before the log collector ran, then the collected ones. */
export async function linesSince(layout: Layout, mark: LogMark): Promise<string[]> {
  const early = await readFile(layout.startupLog, 'utf8').catch(() => '')
  const newest = (await logFiles(layout)).at(-1)
  const collected = newest
    ? await readTail(join(layout.logs, newest), newest === mark.file ? mark.size : 0).catch(() => '')
    : ''
  const lines = `${early}\n${collected}`.split('\n').filter((line) => line.trim() !== '')
  return lines.slice(-TAIL_LINES)
}

async function logFiles(layout: Layout): Promise<string[]> {
  const names = await readdir(layout.logs).catch(() => [])
  return names.filter((name) => name.endsWith('.log')).sort()
}

async function readTail(path: string, from: number): Promise<string> {
  const file = await open(path)
  try {
    const { size } = await file.stat()
    const start = Math.max(from, size - TAIL_BYTES)
    const { buffer, bytesRead } = await file.read(
      Buffer.alloc(Math.max(0, size - start)),
      0,
      undefined,
      start,
    )
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await file.close()
  }
}
