import { rm } from 'node:fs/promises'
import type { Deadline } from './deadline.js'
import { EmbeddedPostgresError } from './failure.js'
import { lastSqlState, startHint } from './hints.js'
import type { Layout } from './layout.js'
import { freePort, portIsFree } from './ports.js'
import { clearMisleadingPidFile, inspectPostmaster } from './postmaster.js'
import { linesSince, markLog, pruneLogs } from './server-log.js'
import { lastPort, lookAround, writeSettings } from './settings.js'
import type { Tools } from './tools.js'

const LOCK_FILE_EXISTS = 'F0001'
const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 1_000

/**
 * Starts Postgres on an existing data folder that nothing serves. Returns once there is a postmaster; it may still
 * be recovering from a crash. Two failures are worth another try: a port lost to another program, and orphans of a
 * killed postmaster that still hold its shared memory.
 */
export async function startServer(layout: Layout, tools: Tools, deadline: Deadline): Promise<void> {
  await pruneLogs(layout)
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    const port = await choosePort(layout)
    await writeSettings(layout, await lookAround(layout, port), tools.account)
    await clearMisleadingPidFile(layout)
    await rm(layout.startupLog, { force: true })
    const mark = await markLog(layout)
    const outcome = await tools.run('pg_ctl', startArguments(layout, deadline))
    if (outcome.code === 0) return
    if ((await inspectPostmaster(layout)).kind === 'running') return
    const lines = await linesSince(layout, mark)
    const passing = lastSqlState(lines) === LOCK_FILE_EXISTS || !(await portIsFree(port))
    if (!passing || deadline.passed) {
      const said = outcome.spawnError?.message ?? outcome.output.trim()
      throw await startFailure(layout, lines, said)
    }
    await deadline.pause(pauseMs)
  }
}

/** The last port if it is still free: members that outlived a crash of Postgres then find it where it was. */
async function choosePort(layout: Layout): Promise<number> {
  const last = await lastPort(layout)
  return last !== null && (await portIsFree(last)) ? last : freePort()
}

function startArguments(layout: Layout, deadline: Deadline): string[] {
  const seconds = Math.max(1, Math.ceil(deadline.leftMs / 1000))
  return [
    'start',
    '--wait',
    `--timeout=${seconds}`,
    `--pgdata=${layout.pgdata}`,
    `--log=${layout.startupLog}`,
  ]
}

async function startFailure(
  layout: Layout,
  lines: readonly string[],
  pgCtlSaid: string,
): Promise<EmbeddedPostgresError> {
  const said = lines.length > 0 ? `The end of its log (${layout.logs}):` : 'It logged nothing; pg_ctl said:'
  return new EmbeddedPostgresError(
    `The embedded Postgres on ${layout.pgdata} did not start.${await startHint(layout, lines)}\n${said}\n` +
      (lines.length > 0 ? lines.join('\n') : pgCtlSaid),
  )
}
