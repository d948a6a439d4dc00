import type {
  Brake,
  BrakeInput,
  Client,
  ClusterView,
  Event,
  Verification,
  VerifyOptions,
  Why,
} from '@carillon/sdk'
import type { LoadedConfig } from '@carillon/server/config'
import type { Command } from 'commander'
import { clientOf } from './client.js'
import { findJobId } from './find-job.js'
import { visible } from './output/visible.js'
import { logFormatOf, settingsOf } from './settings.js'
import { NotFoundError, refused } from './usage.js'

/** Who knows what became of every tick: the database itself, or a server that is asked over its API. */
export interface AccountSource {
  /** For people: whom was asked. */
  readonly name: string
  findJobId(given: string): Promise<string>
  why(jobId: string, at: string): Promise<Why>
  verify(
    options: Omit<VerifyOptions, 'onProgress'> & { onProgress: (soFar: Progress) => void },
  ): Promise<Verification>
  cluster(): Promise<ClusterView>
  events(options: { state: 'open' | 'all'; limit: number }): Promise<Event[]>
  brake(): Promise<Brake | null>
  setBrake(input: BrakeInput): Promise<Brake>
  clearBrake(): Promise<void>
}

export interface Progress {
  jobs: number
  expected: number
}

/** Reads the database where DATABASE_URL is set, unless the command line names a server; the API otherwise. */
export async function withAccount<Result>(
  command: Command,
  flags: Readonly<Record<string, string>>,
  work: (source: AccountSource) => Promise<Result>,
): Promise<Result> {
  const config = settingsOf(command)
  const named = /^flag/.test(config.provenance.url) || /^flag/.test(config.provenance.profile)
  if (config.databaseUrl === undefined || named) return work(ofServer(clientOf(command), config.url))
  try {
    return await withDatabase(config, config.databaseUrl, work)
  } catch (error) {
    throw notFound(error) ?? refused(aboutFields(error), flags)
  }
}

function ofServer(client: Client, url: string): AccountSource {
  return {
    name: `the server at ${new URL(url).origin}`,
    findJobId: (given) => findJobId(client, given),
    why: (jobId, at) => client.jobs.why(jobId, at),
    verify: (options) => client.verify(options),
    cluster: () => client.cluster(),
    events: (options) => client.events(options),
    brake: () => client.brake.get(),
    setBrake: (input) => client.brake.set(input),
    clearBrake: () => client.brake.clear(),
  }
}

const idPattern = /^job_[0-9a-z]{26}$/

/** Loaded when it is needed: the commands that ask a server start faster without it. */
async function withDatabase<Result>(
  config: LoadedConfig,
  url: string,
  work: (source: AccountSource) => Promise<Result>,
): Promise<Result> {
  const server = await import('@carillon/server')
  const log = server.createLog({ level: config.logLevel, format: logFormatOf(config) })
  const database = server.openDatabase(config, url, log)
  try {
    const { current, newest } = await server.inspectSchema(database)
    if (current !== newest) {
      throw new Error(
        `The database of DATABASE_URL has schema version ${current}, and this carillon reads version ${newest}. ` +
          (current < newest ? 'Bring it up to date with: carillon migrate' : 'Use the newer carillon.'),
      )
    }
    const lateToleranceMs = config.lateToleranceSeconds * 1000
    const account = new server.Account({ database, clock: server.systemClock, lateToleranceMs })
    const tenant = server.defaultTenant
    return await work({
      name: 'the database of DATABASE_URL',
      async findJobId(given) {
        const id = idPattern.test(given) ? given : await account.idOfName(tenant, given)
        if (id !== null) return id
        throw new NotFoundError(
          `There is no job named "${visible(given)}", and none ever was that is still known.`,
        )
      },
      why: (jobId, at) => account.why(tenant, jobId, at),
      verify: (options) => account.verify(null, { ...options, budgetMs: null }),
      cluster: () => account.cluster(null),
      events: ({ state, limit }) => account.events({ tenant: null, openOnly: state === 'open', limit }),
      brake: () => account.brake(),
      setBrake: (input) => account.setBrake(input),
      clearBrake: async () => void (await account.clearBrake()),
    })
  } finally {
    await database.close()
  }
}

/** The account names what it was asked for as a query; here the same are flags. */
function aboutFields(error: unknown): unknown {
  if (!(error instanceof Error) || !('errors' in error) || !Array.isArray(error.errors)) return error
  const problems = error.errors as { pointer: string }[]
  const errors = problems.map((one) => ({ ...one, pointer: one.pointer.replace(/^query:/, '/') }))
  return Object.assign(new Error(error.message), {
    name: error.name,
    code: (error as { code?: unknown }).code,
    errors,
  })
}

function notFound(error: unknown): NotFoundError | null {
  const isOne = error instanceof Error && 'code' in error && error.code === 'job_not_found'
  return isOne ? new NotFoundError(error.message) : null
}
