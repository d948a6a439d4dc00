import type pg from 'pg'
import { accountFor } from './account.js'
import { findBinaryPackage } from './binaries.js'
import { clusterExists, createCluster } from './cluster.js'
import { Deadline } from './deadline.js'
import { codeOf, EmbeddedPostgresError, messageOf } from './failure.js'
import type { Layout } from './layout.js'
import { connectionUrl, makeDatabase, openMember, serverVersionOf } from './member.js'
import type { PostmasterState } from './postmaster.js'
import { endedByCrash, inspectPostmaster, stopPostmaster } from './postmaster.js'
import { startServer } from './server.js'
import { prepareTools } from './tools.js'

export type Log = (message: string, fields?: Record<string, unknown>) => void
export interface Arrival {
  readonly member: pg.Client
  readonly url: string
  readonly port: number
  readonly how: How
  readonly serverVersion: string
  /** Whether we started it after a crash: members that outlived the crash may be about to return. */
  readonly afterCrash: boolean
}
export type How = 'created' | 'started' | 'joined'

const POLL_MS = 25
const ABANDON_WITHIN_MS = 10_000
/** Waiting longer does not cure a wrong password. */
const HOPELESS = new Set(['28P01', '28000'])

/**
 * Comes to a member session, whatever the state of the data folder. The caller holds the start lock.
 * A loop instead of a sequence, since the state may change under us: somebody kills or stops Postgres by hand.
 */
export async function comeUp(layout: Layout, deadline: Deadline, log: Log): Promise<Arrival> {
  let how: How = 'joined'
  let afterCrash = false
  let hindrance: unknown = null
  for (;;) {
    const state = await inspectPostmaster(layout)
    if (state.kind === 'running' && state.ready) {
      try {
        return { ...(await arrive(layout, state.port, how)), afterCrash }
      } catch (error) {
        hindrance = error
        if (error instanceof EmbeddedPostgresError || HOPELESS.has(codeOf(error) ?? '')) {
          throw await abandon(layout, how, error)
        }
      }
    }
    if (deadline.passed) throw tooLate(layout, deadline, state, hindrance)
    if (state.kind === 'absent') {
      afterCrash ||= await endedByCrash(layout)
      how = await startCold(layout, deadline, log, how)
    } else {
      await deadline.pause(POLL_MS)
    }
  }
}

async function arrive(layout: Layout, port: number, how: How): Promise<Omit<Arrival, 'afterCrash'>> {
  const url = await connectionUrl(layout, port)
  if (how === 'created') await makeDatabase(layout, port)
  const member = await openMember(layout, port)
  try {
    return { member, url, port, how, serverVersion: await serverVersionOf(member) }
  } catch (error) {
    await member.end().catch(() => undefined)
    throw error
  }
}

async function startCold(layout: Layout, deadline: Deadline, log: Log, before: How): Promise<How> {
  const binaries = await findBinaryPackage()
  const exists = await clusterExists(layout, binaries)
  const tools = await prepareTools(layout, binaries, await accountFor(layout.home), log)
  if (!exists) {
    log('making a new postgres data folder', { folder: layout.pgdata, version: binaries.version })
    await createCluster(layout, tools, deadline)
  }
  log('starting postgres', { folder: layout.pgdata })
  await startServer(layout, tools, deadline)
  return exists && before !== 'created' ? 'started' : 'created'
}

/** A Postgres that we started and cannot use shall not stay behind. */
async function abandon(layout: Layout, how: How, error: unknown): Promise<EmbeddedPostgresError> {
  if (how !== 'joined') {
    await stopPostmaster(layout, new Deadline(ABANDON_WITHIN_MS)).catch(() => false)
  }
  if (error instanceof EmbeddedPostgresError) return error
  return new EmbeddedPostgresError(
    `The embedded Postgres on ${layout.pgdata} refuses our connection (${messageOf(error)}). Its password is the one ` +
      `in ${layout.passwordFile}: has the role's password or pg_hba.conf been changed?`,
    { cause: error },
  )
}

function tooLate(
  layout: Layout,
  deadline: Deadline,
  state: PostmasterState,
  hindrance: unknown,
): EmbeddedPostgresError {
  const waited = `Waited ${Math.round(deadline.totalMs / 1000)} s for the embedded Postgres on ${layout.pgdata}: `
  if (state.kind === 'orphaned') {
    return new EmbeddedPostgresError(
      `${waited}its main process was killed, and processes of it still work in the folder (pid ` +
        `${state.pids.join(', ')}). They leave when their statement ends: start again then, or end them.`,
    )
  }
  if (state.kind === 'running' && !state.ready) {
    return new EmbeddedPostgresError(
      `${waited}it runs (pid ${state.pid}) but is not ready, as it is recovering from a crash or shutting down. It ` +
        `goes on by itself: look into ${layout.logs} and start again.`,
    )
  }
  const why = hindrance === null ? 'it did not come up' : messageOf(hindrance)
  return new EmbeddedPostgresError(`${waited}${why}. Look into ${layout.logs}.`, { cause: hindrance })
}
