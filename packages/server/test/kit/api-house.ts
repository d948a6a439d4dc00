import type { Role } from '@carillon/contract'
import { loadConfig } from '../../src/config.js'
import { buildApp } from '../../src/http/app.js'
import { createKey } from '../../src/main.js'
import { KeyRing } from '../../src/pipeline/access/key-ring.js'
import { composeApi } from '../../src/roles/api.js'
import { JobSeries } from '../../src/pipeline/monitor/job-series.js'
import type { Context } from '../../src/roles/context.js'
import { composeRemote } from '../../src/roles/remote.js'
import { composeRunStreams } from '../../src/roles/run-streams.js'
import { healthy, someMetrics } from './http-ports.js'
import { silentLog } from './test-database.js'
import type { TestNode } from './test-house.js'
import type { House } from './use-house.js'

export interface Answer {
  status: number
  body: Record<string, unknown>
}

export interface ApiHouse {
  ring: KeyRing
  /** The OpenAPI document of this server. */
  document(): Promise<{ paths: Record<string, Record<string, { operationId: string }>> }>
  ask(method: string, path: string, options?: { key?: string; body?: object }): Promise<Answer>
  /** Makes a tenant with an admin key. */
  tenant(name: string): Promise<string>
  key(role: Role, tenant?: string): Promise<string>
}

let names = 0

/** The whole API over the real database: the HTTP room, the ports as the api role composes them, keys that are looked up. */
export async function openApi(house: House, node: TestNode, required = true): Promise<ApiHouse> {
  const { database, databaseClock, membership, metrics } = node
  const { clock } = house
  const config = loadConfig({ env: { CARILLON_MIN_INTERVAL_SECONDS: '1' } })
  const coordination = undefined as never
  const context: Context = {
    config,
    database,
    databaseClock,
    coordination,
    membership,
    clock,
    log: silentLog,
    metrics,
    jobSeries: new JobSeries({ database, metrics, tag: 'monitor', most: 10 }),
    traces: null,
  }
  const remote = composeRemote(context)
  const streams = composeRunStreams(context)
  const api = composeApi(context, { jobChanged: () => undefined }, remote.leases, streams)
  const ring = new KeyRing({ database, clock })
  const { app } = buildApp({
    maxBodyBytes: 1 << 20,
    version: '0.0.0',
    log: silentLog,
    health: healthy,
    metrics: someMetrics,
    access: { required, identify: (key) => ring.identify(key), watch: (key) => ring.watch(key) },
    api,
    dashboardDir: null,
  })
  house.onEmpty(async () => {
    streams.end()
    await app.close()
    remote.close()
    await api.close()
  })
  await app.ready()
  const key: ApiHouse['key'] = async (role, tenant = 'default') => {
    names += 1
    return (await createKey(database, { name: `${role}-${names}`, role, tenant })).key
  }
  return {
    ring,
    key,
    document: async () => (await app.inject('/api/v1/openapi.json')).json(),
    async ask(method, path, { key: sent, body } = {}) {
      const answer = await app.inject({
        method: method as 'GET',
        url: `/api/v1${path}`,
        headers: sent === undefined ? {} : { authorization: `Bearer ${sent}` },
        ...(body !== undefined && { payload: body }),
      })
      return { status: answer.statusCode, body: answer.body === '' ? {} : answer.json() }
    },
    async tenant(name) {
      await house.query('INSERT INTO carillon.tenants (name) VALUES ($1) ON CONFLICT DO NOTHING', [name])
      return key('admin', name)
    },
  }
}
