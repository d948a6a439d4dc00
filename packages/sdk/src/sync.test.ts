import type { Job, JobInput } from '@carillon/contract'
import { expect, expectTypeOf, test } from 'vitest'
import {
  createClient,
  defineTask,
  jobFor,
  SyncError,
  type SyncJob,
  type SyncOptions,
  type SyncPlan,
} from './index.js'

type Stored = JobInput & { managed_by?: string | null; job_id: string; version: number; state: string }

/** Jobs in memory, behind the routes that a sync uses. */
class Server {
  readonly jobs: Stored[] = []
  readonly writes: string[] = []
  /** Called before each write is done: somebody else may be faster. */
  before: (write: string) => void = () => undefined
  private ids = 0

  add(job: JobInput & { managed_by?: string | null; state?: string }): Stored {
    const stored = { state: 'active', ...job, job_id: `job_${++this.ids}`, version: 1 }
    this.jobs.push(stored)
    return stored
  }

  live(name: string): Stored | undefined {
    return this.jobs.find((job) => job.name === name && ['active', 'paused'].includes(job.state))
  }

  /** As the server has it: the live job of a name, or else the latest that had it. */
  named(name: string): Stored | undefined {
    const past = this.jobs.filter((job) => job.name === name && ['ended', 'cancelled'].includes(job.state))
    return this.live(name) ?? past.at(-1)
  }

  readonly fetch: typeof globalThis.fetch = (url, init) => {
    const { pathname, searchParams } = new URL(url instanceof Request ? url.url : url)
    const path = pathname.replace('/api/v1', '')
    const method = init?.method ?? 'GET'
    if (method !== 'GET') this.before(`${method} ${path}`)
    if (method !== 'GET') this.writes.push(`${method} ${path}`)
    const body = typeof init?.body === 'string' ? (JSON.parse(init.body) as JobInput) : undefined
    return Promise.resolve(this.answer(method, path, searchParams, body, new Headers(init?.headers)))
  }

  private answer(
    method: string,
    path: string,
    query: URLSearchParams,
    body: JobInput | undefined,
    headers: Headers,
  ): Response {
    const name = decodeURIComponent(/^\/jobs\/by-name\/(.*)$/.exec(path)?.[1] ?? '')
    const found = this.live(name)
    if (method === 'GET' && path === '/jobs') {
      const data = this.jobs.filter((job) => job.managed_by === query.get('managed_by')).map(view)
      return json(200, { data, next_cursor: null })
    }
    if (method === 'GET') {
      const named = this.named(name)
      return named === undefined ? refusal(404, 'job_not_found') : json(200, view(named))
    }
    if (method === 'POST' && path === '/jobs') {
      if (body === undefined || body.schedule === 'nonsense') return refusal(422, 'invalid_schedule')
      if (this.live(body.name) !== undefined) return refusal(409, 'job_name_taken')
      return json(201, view(this.add(body)))
    }
    if (method === 'PUT') {
      if (found === undefined || headers.get('if-match') !== `"${found.version}"`)
        return refusal(409, 'job_version_conflict')
      Object.assign(found, body, { version: found.version + 1 })
      return json(200, view(found))
    }
    const [, id, action] = /^\/jobs\/(job_\d+)(\/cancel)?$/.exec(path) ?? []
    const job = this.jobs.find(({ job_id }) => job_id === id)
    if (job !== undefined) job.state = action === undefined ? 'deleted' : 'cancelled'
    return action === undefined ? new Response(null, { status: 204 }) : json(200, {})
  }
}

const json = (status: number, body: object) =>
  new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json' } })
const refusal = (status: number, code: string) => json(status, { code, detail: code })

/** As the server shows it: with the defaults, of which only some matter here. */
function view(job: Stored): Partial<Job> {
  return {
    timezone: 'UTC',
    dst_gap: 'run_after',
    dst_overlap: 'first',
    exclude: [],
    on_excluded: 'exclude',
    jitter_seconds: 0,
    fire_window_seconds: 0,
    target: { type: 'task', task: job.name },
    idempotency_key_template: '{{job_id}}:{{scheduled_at_unix}}',
    max_retries: 3,
    retry_backoff: 'exponential',
    missed_window: 'RUN_ONCE',
    max_missed: 10,
    overlap_policy: 'SKIP',
    priority: 5,
    timeout_seconds: 300,
    ...job,
  } as Partial<Job>
}

function start() {
  const server = new Server()
  const client = createClient({ url: 'http://carillon.test', fetch: server.fetch, maxRetries: 0 })
  return { server, client, sync: (jobs: SyncJob[], options: SyncOptions) => client.sync(jobs, options) }
}
const daily = (name: string, more: Partial<SyncJob> = {}): SyncJob => ({
  name,
  schedule: '0 9 * * *',
  ...more,
})
const names = ({ created, changed, unchanged, pruned, conflicts }: SyncPlan) =>
  Object.fromEntries(
    Object.entries({ created, changed, unchanged, pruned, conflicts }).map(([kind, list]) => [
      kind,
      list.map(({ name }) => name),
    ]),
  )

test('the plan tells created, changed with its fields, unchanged and surplus jobs, and a dry run writes nothing', async () => {
  const { server, sync } = start()
  server.add({ ...daily('same'), managed_by: 'billing' })
  server.add({ ...daily('edited'), priority: 3, tags: ['x'], managed_by: 'billing' })
  server.add({ ...daily('gone'), managed_by: 'billing' })
  server.add({ ...daily('theirs'), managed_by: 'other' })
  const wanted = [daily('same'), daily('new'), daily('edited', { timeout_seconds: 10 }), daily('theirs')]
  const plan = await sync(wanted, { owner: 'billing', prune: true, dryRun: true })
  expect(names(plan)).toEqual({
    created: ['new'],
    changed: ['edited'],
    unchanged: ['same'],
    pruned: ['gone'],
    conflicts: ['theirs'],
  })
  expect(plan.changed[0]?.fields.sort()).toEqual(['priority', 'tags', 'timeout_seconds'])
  expect(plan.conflicts).toMatchObject([{ owner: 'other' }])
  expect(plan).toMatchObject({ applied: false, created: [{ job_id: null }] })
  expect(server.writes).toEqual([])
})

test('what the plan says is done, as the owner, and a second sync has nothing to do', async () => {
  const { server, sync } = start()
  server.add({ ...daily('edited'), priority: 3, managed_by: 'billing' })
  server.add({ ...daily('gone'), managed_by: 'billing' })
  const wanted = [daily('new'), daily('edited')]
  const plan = await sync(wanted, { owner: 'billing', prune: true })
  expect(names(plan)).toMatchObject({ created: ['new'], changed: ['edited'], pruned: ['gone'] })
  expect(server.live('new')).toMatchObject({ managed_by: 'billing' })
  expect(server.live('gone')).toBeUndefined()
  expect(server.writes.sort()).toEqual(['POST /jobs', 'POST /jobs/job_2/cancel', 'PUT /jobs/by-name/edited'])
  server.writes.length = 0
  server.live('edited')!.priority = 5
  const again = await sync(wanted, { owner: 'billing', prune: true })
  expect(names(again)).toMatchObject({ created: [], changed: [], unchanged: ['edited', 'new'], pruned: [] })
  expect(server.writes).toEqual([])
})

test.each([
  [{ tags: ['b', 'a'] }, { tags: ['a', 'b'] }],
  [{ retry: { max_attempts: 4 } }, { max_retries: 3 }],
  [{ payload: { a: 1, b: [1] } }, { payload: { b: [1], a: 1 } }],
  [{ payload: null }, {}],
])('%j is no change from %j', async (wanted, present) => {
  const { server, sync } = start()
  server.add({ ...daily('a'), ...present, managed_by: 'billing' })
  expect(names(await sync([daily('a', wanted)], { owner: 'billing' }))).toMatchObject({ unchanged: ['a'] })
})

test('surplus jobs stay unless pruning is asked for, and are deleted only where that is said', async () => {
  const { server, sync } = start()
  const gone = server.add({ ...daily('gone'), managed_by: 'billing' })
  server.add({ ...daily('ended'), managed_by: 'billing', state: 'ended' })
  expect(names(await sync([], { owner: 'billing' }))).toMatchObject({ pruned: ['gone'] })
  expect(server.writes).toEqual([])
  await sync([], { owner: 'billing', prune: 'delete' })
  expect(server.writes).toEqual([`DELETE /jobs/${gone.job_id}`])
})

test('a job that was pruned comes back when it is in the list again, as it was or changed', async () => {
  const { server, sync } = start()
  server.add({ ...daily('same'), managed_by: 'billing' })
  server.add({ ...daily('edited'), managed_by: 'billing' })
  await sync([], { owner: 'billing', prune: true })
  const plan = await sync([daily('same'), daily('edited', { priority: 7 })], { owner: 'billing' })
  expect(names(plan)).toMatchObject({ created: ['edited', 'same'], changed: [], unchanged: [] })
  expect(server.live('same')).toMatchObject({ managed_by: 'billing' })
  expect(server.live('edited')).toMatchObject({ priority: 7 })
})

test("a past job of another owner's keeps nobody from its name", async () => {
  const { server, sync } = start()
  server.add({ ...daily('a'), managed_by: 'other', state: 'cancelled' })
  server.add({ ...daily('b'), managed_by: 'other', state: 'ended' })
  const plan = await sync([daily('a'), daily('b')], { owner: 'billing' })
  expect(names(plan)).toMatchObject({ created: ['a', 'b'], conflicts: [] })
})

test.each(['billing', null])(
  'a job of %s that has ended by itself is not begun again, unless its definition changed',
  async (owner) => {
    const { server, sync } = start()
    server.add({ ...daily('done', { max_runs: 3 }), managed_by: owner, state: 'ended' })
    const again = await sync([daily('done', { max_runs: 3 })], { owner: 'billing' })
    expect(names(again)).toMatchObject({ unchanged: ['done'], created: [], changed: [] })
    expect(server.writes).toEqual([])
    const more = await sync([daily('done', { max_runs: 5 })], { owner: 'billing' })
    expect(names(more)).toMatchObject({ created: ['done'] })
    expect(server.live('done')).toMatchObject({ max_runs: 5, managed_by: 'billing' })
  },
)

test('a job that nobody owns is adopted, or left alone where that is not wanted', async () => {
  const { server, sync } = start()
  server.add({ ...daily('free'), managed_by: null })
  const refused = await sync([daily('free')], { owner: 'billing', adopt: false })
  expect(refused.conflicts).toMatchObject([{ name: 'free', owner: null }])
  expect(server.writes).toEqual([])
  const adopted = await sync([daily('free')], { owner: 'billing' })
  expect(adopted.changed).toMatchObject([{ name: 'free', fields: ['managed_by'] }])
  expect(server.live('free')).toMatchObject({ managed_by: 'billing' })
})

test('two syncs at once end as one: whoever is overtaken looks again', async () => {
  const { server, sync } = start()
  server.add({ ...daily('edited'), priority: 3, managed_by: 'billing' })
  const wanted = [daily('edited', { priority: 7 }), daily('new')]
  const plans = await Promise.all([sync(wanted, { owner: 'billing' }), sync(wanted, { owner: 'billing' })])
  expect(plans.flatMap(({ created }) => created)).toHaveLength(1)
  expect(plans.flatMap(({ changed }) => changed)).toHaveLength(1)
  expect(server.live('edited')).toMatchObject({ priority: 7, version: 2 })
})

test('a name that another owner takes at the last moment is not stolen', async () => {
  const { server, sync } = start()
  server.before = (write) => {
    if (write === 'POST /jobs' && server.live('new') === undefined)
      server.add({ ...daily('new'), managed_by: 'other' })
  }
  const plan = await sync([daily('new')], { owner: 'billing' })
  expect(plan.conflicts).toMatchObject([{ name: 'new', owner: 'other' }])
  expect(server.live('new')).toMatchObject({ managed_by: 'other', version: 1 })
})

test('a surplus job that changed hands since it was listed is not pruned', async () => {
  const { server, sync } = start()
  const gone = server.add({ ...daily('gone'), managed_by: 'billing' })
  server.before = () => (gone.managed_by = 'other')
  const plan = await sync([daily('new')], { owner: 'billing', prune: true })
  expect(names(plan)).toMatchObject({ created: ['new'], pruned: [] })
  expect(server.live('gone')).toBeDefined()
})

test('one that is refused does not keep the others from their place, and nothing is pruned', async () => {
  const { server, sync } = start()
  server.add({ ...daily('gone'), managed_by: 'billing' })
  const wanted = [daily('bad', { schedule: 'nonsense' }), daily('good')]
  const error: unknown = await sync(wanted, { owner: 'billing', prune: true }).catch(
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(SyncError)
  expect(error).toMatchObject({ message: expect.stringContaining('"bad" was refused') as string })
  expect((error as SyncError).plan.created).toMatchObject([{ name: 'good' }])
  expect(server.live('gone')).toBeDefined()
})

test('a list with a name twice, or no owner, is refused before anything is asked', async () => {
  const { server, sync } = start()
  await expect(sync([daily('a'), daily('a')], { owner: 'billing' })).rejects.toThrow(/two jobs named "a"/)
  await expect(sync([daily('a')], { owner: '' })).rejects.toThrow(/"owner" is empty/)
  expect(server.writes).toEqual([])
})

test('a job for a task has the payload that the task takes', () => {
  const digest = defineTask({ id: 'digest', run: (input: { user: string }) => input.user })
  const job = jobFor(digest, { name: 'd', schedule: '0 9 * * *', payload: { user: 'u' } })
  expect(job).toEqual({
    name: 'd',
    schedule: '0 9 * * *',
    payload: { user: 'u' },
    target: { type: 'task', task: 'digest' },
  })
  expectTypeOf(jobFor<typeof digest>)
    .parameter(1)
    .toHaveProperty('payload')
    .toEqualTypeOf<{ user: string }>()
})
