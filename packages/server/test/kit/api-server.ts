import type { Job, JobInput } from '@carillon/contract'
import { Database } from '../../src/db/pool.js'
import { createHttpServer, type HttpServer } from '../../src/http/server.js'
import { Backfills } from '../../src/pipeline/register/backfills.js'
import { Operations } from '../../src/pipeline/register/bulk/operations.js'
import { Idempotency } from '../../src/pipeline/idempotency.js'
import { Registry } from '../../src/pipeline/register/registry.js'
import { httpOptions, MemoryPorts } from './http-ports.js'
import { silentLog } from './test-database.js'
import type { TestNode } from './test-house.js'
import type { House } from './use-house.js'

export interface ApiServerOptions {
  quota?: { maxJobs: number; createPerSecond: number }
  /** In place of the house's database: a proxy before it. */
  url?: string
  maxBulkBodyBytes?: number
}

/** A server that creates and triggers jobs, and begins backfills and operations, over HTTP, with connections of its own. Several are a fleet. */
export class ApiServer {
  private constructor(
    readonly registry: Registry,
    private readonly http: HttpServer,
  ) {}

  static start(house: House, node: TestNode, options: ApiServerOptions = {}): ApiServer {
    const database = new Database({
      url: options.url ?? house.database.url,
      poolSize: 5,
      statementTimeoutMs: 20_000,
      applicationName: 'carillon test api',
      log: silentLog,
    })
    house.onEmpty(() => database.close())
    const idempotency = new Idempotency(database)
    const registry = new Registry({
      database,
      idempotency,
      databaseClock: node.databaseClock,
      minIntervalMs: 1_000,
      ...(options.quota !== undefined && { quota: options.quota }),
      checkTarget: () => undefined,
      onChanged: () => undefined,
    })
    const api = Object.assign(new MemoryPorts(), {
      jobs: registry,
      idempotency,
      backfills: new Backfills({
        database,
        mostTicks: 1_000,
        jobOf: (tenant, jobId) => registry.find(tenant, jobId),
      }),
      operations: new Operations(database),
    })
    const { maxBulkBodyBytes } = options
    const http = createHttpServer(
      httpOptions({ api, ...(maxBulkBodyBytes !== undefined && { maxBulkBodyBytes }) }),
    )
    return new ApiServer(registry, http)
  }

  async post<Body = Job>(path: string, body: object, key?: string): Promise<Answered<Body>> {
    const answer = await this.http.inject({
      method: 'POST',
      url: `/api/v1${path}`,
      headers: {
        'content-type': 'application/json',
        ...(key !== undefined && { 'idempotency-key': key }),
      },
      payload: JSON.stringify(body),
    })
    return {
      status: answer.statusCode,
      body: answer.json<Body & { code: string }>(),
      text: answer.body,
      headers: answer.headers,
    }
  }

  create(input: Partial<JobInput> = {}, key?: string): Promise<Answered<Job>> {
    return this.post<Job>('/jobs', jobInput(input), key)
  }
}

export interface Answered<Body> {
  status: number
  body: Body & { code: string }
  text: string
  headers: Record<string, unknown>
}

let made = 0

export function jobInput(input: Partial<JobInput> = {}): JobInput {
  made += 1
  return { name: `made-${made}`, schedule: '0 9 * * *', target: { type: 'task', task: 'task' }, ...input }
}

/** Calls go to the servers in turn. */
export function turnOf(servers: readonly ApiServer[], at: number): ApiServer {
  const server = servers[at % servers.length]
  if (server === undefined) throw new Error('There is no server.')
  return server
}
