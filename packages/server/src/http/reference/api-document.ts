import { pino } from 'pino'
import type { AccessPort, ApiPorts, HealthPort } from '../api.js'
import { buildApp } from '../app.js'
import type { OpenApiDocument } from './document.js'

/** The OpenAPI document without a server behind it: routes are described when they are added, and nothing is called. */
export async function apiDocument(version: string): Promise<OpenApiDocument> {
  const nobody = new Proxy({}, { get: () => nobody }) as ApiPorts
  const { app } = buildApp({
    maxBodyBytes: 1,
    version,
    log: pino({ level: 'silent' }),
    health: nobody as unknown as HealthPort,
    metrics: { contentType: 'text/plain', render: () => Promise.resolve('') },
    access: nobody as unknown as AccessPort,
    api: nobody,
    dashboardDir: null,
  })
  const answer = await app.inject('/api/v1/openapi.json')
  await app.close()
  return answer.json<OpenApiDocument>()
}
