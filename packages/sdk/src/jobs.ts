import type {
  Backfill,
  BackfillPlan,
  BackfillInput,
  BulkAnswer,
  BulkInput,
  Job,
  JobDryRun,
  JobInput,
  JobList,
  JobPatch,
  JobQuery,
  JobVersion,
  Page,
  PauseInput,
  Tick,
  Run,
  RunStatus,
  Why,
} from '@carillon/contract'
import { type CallApi, keyOf, type OnceOptions, pages, pathTo } from './paths.js'
import type { Answer, Call } from './transport.js'

export interface RunQuery {
  limit?: number
  /** Only runs that are so now. */
  status?: RunStatus
  /** Only ticks from this instant on. */
  after?: string
  /** Only ticks before this instant. */
  before?: string
}

export interface IfMatch {
  /** Only if this is the present version: otherwise somebody else was faster, and nothing is changed. */
  ifVersion?: number
}

type NewJob = JobInput

export interface JobCalls {
  readonly jobs: {
    create(input: NewJob, options?: OnceOptions): Promise<Job>
    /** What `create` would come to: everything is checked, nothing is stored. */
    tryCreate(input: NewJob): Promise<JobDryRun>
    /** Up to 10,000 with one call. Each has a result of its own; with `atomic` all are made, or none. */
    bulk(input: BulkInput, options?: OnceOptions): Promise<BulkAnswer>
    /** One page; pass its `next_cursor` for the next one. */
    list(query?: JobQuery & { cursor?: string }): Promise<JobList>
    /** All jobs, page by page as they are asked for. */
    iterate(query?: JobQuery): AsyncGenerator<Job, void, undefined>
    get(id: string): Promise<Job>
    /** The live job of this name. */
    getByName(name: string): Promise<Job>
    /** Makes the job of this name, or gives the one there is this definition. What is equal already stays as it is. */
    upsert(name: string, input: Omit<NewJob, 'name'>, options?: IfMatch): Promise<Job>
    delete(id: string): Promise<void>
    /** Changes the given fields, each as a whole; null: back to its default. `version`: only if it is the present one. */
    edit(id: string, patch: JobPatch): Promise<Job>
    /** What `edit` would come to: everything is checked, nothing is changed. */
    tryEdit(id: string, patch: JobPatch): Promise<JobDryRun>
    /** Nothing of it starts any more, until it is resumed or `until` has come. */
    pause(id: string, pause?: PauseInput): Promise<Job>
    resume(id: string): Promise<Job>
    /** No further ticks. Definition and history stay, runs under way end as they will, and the name is free again. */
    cancel(id: string, options?: { reason?: string }): Promise<Job>
    /** A run now, beside the schedule; `status` is skipped where the job's overlap policy passes over it. */
    trigger(id: string, options?: OnceOptions): Promise<Run>
    /** What became of the job's ticks, in the server's order. */
    runs(id: string, query?: RunQuery): Promise<Run[]>
    /** All of them, page by page as they are asked for. */
    iterateRuns(id: string, query?: RunQuery): AsyncGenerator<Run, void, undefined>
    /** What became of one tick, and why: an instant, or a reading of the clocks in the job's zone. */
    why(id: string, at: string): Promise<Why>
    /** The newest first. */
    versions(id: string, page?: { limit?: number; cursor?: string }): Promise<Page<JobVersion>>
    iterateVersions(id: string, page?: { limit?: number }): AsyncGenerator<JobVersion, void, undefined>
    version(id: string, version: number): Promise<JobVersion>
    /** A new version with the definition of an old one. */
    rollback(id: string, version: number, options?: { reason?: string }): Promise<Job>
    /** The next ticks as they will be, with those that were skipped or moved. */
    ticks(id: string, query?: { from?: string; count?: number }): Promise<Tick[]>
    /** A tick ahead is passed over; the account keeps it as skipped by request. */
    skipTick(id: string, at: string, options?: { reason?: string }): Promise<Tick>
    /** A tick ahead starts at another time. It keeps its `due`. */
    moveTick(id: string, at: string, to: string, options?: { reason?: string }): Promise<Tick>
    /** Takes a skip or a move back. */
    restoreTick(id: string, at: string): Promise<Tick>
    /** Runs ticks of the past, at a pace, in the background. */
    backfill(id: string, input: BackfillInput, options?: OnceOptions): Promise<Backfill>
    /** What a backfill would run. */
    countBackfill(id: string, input: BackfillInput): Promise<BackfillPlan>
    backfills(id: string, page?: { limit?: number; cursor?: string }): Promise<Page<Backfill>>
  }
  readonly backfills: {
    list(page?: { limit?: number; cursor?: string }): Promise<Page<Backfill>>
    iterate(page?: { limit?: number }): AsyncGenerator<Backfill, void, undefined>
    get(backfillId: string): Promise<Backfill>
    /** What is back in the queue stays there. */
    cancel(backfillId: string): Promise<Backfill>
  }
}

const jobsPath = '/api/v1/jobs'
const backfillsPath = '/api/v1/backfills'
/** Ten thousand jobs are a large body, and one statement behind it. */
const bulkTimeoutMs = 120_000

const jobPath = (id: string) =>
  pathTo(jobsPath, id, 'a job id. Ids look like job_… and are given by the server')
const namePath = (name: string) => pathTo(`${jobsPath}/by-name`, name, 'the name of a job')

export function jobCalls(call: CallApi, exchange: (what: Call) => Promise<Answer>): JobCalls {
  const list: JobCalls['jobs']['list'] = (query = {}) =>
    call<JobList>({ method: 'GET', path: jobsPath, query: { ...query } })
  return {
    jobs: {
      create: (input, options) =>
        call<Job>({ method: 'POST', path: jobsPath, body: input, idempotencyKey: keyOf(options) }),
      tryCreate: (input) =>
        call<JobDryRun>({ method: 'POST', path: jobsPath, query: { dry_run: 'true' }, body: input }),
      bulk: (input, options) =>
        call<BulkAnswer>({
          method: 'POST',
          path: `${jobsPath}/bulk`,
          body: input,
          idempotencyKey: keyOf(options),
          timeoutMs: bulkTimeoutMs,
        }),
      list,
      iterate: (query = {}) => pages(list, query),
      get: async (id) => await call<Job>({ method: 'GET', path: jobPath(id) }),
      getByName: async (name) => await call<Job>({ method: 'GET', path: namePath(name) }),
      upsert: async (name, input, { ifVersion } = {}) =>
        await call<Job>({
          method: 'PUT',
          path: namePath(name),
          body: input,
          ...(ifVersion !== undefined && { ifMatch: ifVersion }),
        }),
      async delete(id) {
        await call({ method: 'DELETE', path: jobPath(id) })
      },
      edit: async (id, patch) => await call<Job>({ method: 'PATCH', path: jobPath(id), body: patch }),
      tryEdit: async (id, patch) =>
        await call<JobDryRun>({
          method: 'PATCH',
          path: jobPath(id),
          query: { dry_run: 'true' },
          body: patch,
        }),
      ...jobActions(call),
      ...jobRuns(call, exchange),
      ...jobVersions(call),
      ...jobTicks(call),
      ...jobBackfills(call),
    },
    backfills: backfillCalls(call),
  }
}

type Jobs = JobCalls['jobs']

function jobActions(call: CallApi): Pick<Jobs, 'pause' | 'resume' | 'cancel' | 'trigger' | 'rollback'> {
  const act = async <T>(id: string, action: string, body: object, more: Partial<Call> = {}) =>
    await call<T>({ method: 'POST', path: `${jobPath(id)}/${action}`, body, ...more })
  return {
    pause: (id, pause = {}) => act<Job>(id, 'pause', pause),
    resume: (id) => act<Job>(id, 'resume', {}),
    cancel: (id, options = {}) => act<Job>(id, 'cancel', options),
    trigger: (id, options) => act<Run>(id, 'trigger', {}, { idempotencyKey: keyOf(options) }),
    rollback: (id, version, options = {}) => act<Job>(id, 'rollback', { version, ...options }),
  }
}

function jobRuns(
  call: CallApi,
  exchange: (what: Call) => Promise<Answer>,
): Pick<Jobs, 'runs' | 'iterateRuns' | 'why'> {
  return {
    runs: async (id, query = {}) =>
      await call<Run[]>({ method: 'GET', path: `${jobPath(id)}/runs`, query: { ...query } }),
    async *iterateRuns(id, query = {}) {
      let cursor: string | undefined
      do {
        const answer = await exchange({
          method: 'GET',
          path: `${jobPath(id)}/runs`,
          query: { ...query, cursor },
        })
        yield* answer.value as Run[]
        cursor = nextOf(answer.headers)
      } while (cursor !== undefined)
    },
    why: async (id, at) => await call<Why>({ method: 'GET', path: `${jobPath(id)}/why`, query: { at } }),
  }
}

/** The cursor of the page after this one, from its Link header. Only the cursor: the host in a link may be a proxy's. */
function nextOf(headers: Headers): string | undefined {
  const [, target] = /<([^>]*)>\s*;\s*rel="?next"?/.exec(headers.get('link') ?? '') ?? []
  if (target === undefined) return undefined
  return new URL(target, 'http://carillon.invalid').searchParams.get('cursor') ?? undefined
}

function jobVersions(call: CallApi): Pick<Jobs, 'versions' | 'iterateVersions' | 'version'> {
  const versions: Jobs['versions'] = async (id, page = {}) =>
    await call<Page<JobVersion>>({ method: 'GET', path: `${jobPath(id)}/versions`, query: { ...page } })
  return {
    versions,
    iterateVersions: (id, page = {}) => pages((query: typeof page) => versions(id, query), page),
    version: async (id, version) =>
      await call<JobVersion>({ method: 'GET', path: `${jobPath(id)}/versions/${version}` }),
  }
}

function jobTicks(call: CallApi): Pick<Jobs, 'ticks' | 'skipTick' | 'moveTick' | 'restoreTick'> {
  const change = async (id: string, action: string, body: object) =>
    await call<Tick>({ method: 'POST', path: `${jobPath(id)}/ticks/${action}`, body })
  return {
    ticks: async (id, query = {}) =>
      (await call<Page<Tick>>({ method: 'GET', path: `${jobPath(id)}/ticks`, query: { ...query } })).data,
    skipTick: (id, at, options = {}) => change(id, 'skip', { at, ...options }),
    moveTick: (id, at, to, options = {}) => change(id, 'move', { at, to, ...options }),
    restoreTick: (id, at) => change(id, 'restore', { at }),
  }
}

function jobBackfills(call: CallApi): Pick<Jobs, 'backfill' | 'countBackfill' | 'backfills'> {
  const path = (id: string) => `${jobPath(id)}/backfills`
  return {
    backfill: async (id, input, options) =>
      await call<Backfill>({
        method: 'POST',
        path: path(id),
        body: input,
        idempotencyKey: keyOf(options),
      }),
    countBackfill: async (id, input) =>
      await call<BackfillPlan>({ method: 'POST', path: path(id), body: { ...input, dry_run: true } }),
    backfills: async (id, page = {}) =>
      await call<Page<Backfill>>({ method: 'GET', path: path(id), query: { ...page } }),
  }
}

function backfillCalls(call: CallApi): JobCalls['backfills'] {
  const pathOf = (id: string) => pathTo(backfillsPath, id, 'the id of a backfill')
  const list: JobCalls['backfills']['list'] = (page = {}) =>
    call<Page<Backfill>>({ method: 'GET', path: backfillsPath, query: { ...page } })
  return {
    list,
    iterate: (page = {}) => pages(list, page),
    get: async (id) => await call<Backfill>({ method: 'GET', path: pathOf(id) }),
    cancel: async (id) => await call<Backfill>({ method: 'POST', path: `${pathOf(id)}/cancel`, body: {} }),
  }
}
