import { fileURLToPath } from 'node:url'
import { type ErrorCode, errorCatalogue } from '@carillon/contract'
import { beforeAll, describe, expect, it } from 'vitest'
import { httpOptions } from '../../test/kit/http-ports.js'
import { buildApp } from './app.js'
import type { KnownRoute } from './known-routes.js'

interface OperationObject {
  operationId: string
  summary: string
  tags: string[]
  parameters?: { name: string; in: string }[]
  responses: Record<string, { description: string; content?: Record<string, { schema: unknown }> }>
}
interface Document {
  openapi: string
  info: { title: string; version: string }
  paths: Record<string, Record<string, OperationObject>>
  components: { schemas: Record<string, unknown> }
}

const dashboardDir = fileURLToPath(new URL('../../../dashboard/public', import.meta.url))
let document: Document
let routes: readonly KnownRoute[]
let operations: { path: string; method: string; operation: OperationObject }[]

beforeAll(async () => {
  const built = buildApp(httpOptions({ version: '1.2.3' }))
  routes = built.routes
  document = (await built.app.inject('/api/v1/openapi.json')).json()
  operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )
})

function everyReference(node: unknown): string[] {
  if (typeof node !== 'object' || node === null) return []
  return Object.entries(node).flatMap(([key, value]) =>
    key === '$ref' && typeof value === 'string' ? [value] : everyReference(value),
  )
}

describe('the OpenAPI document', () => {
  it('is OpenAPI 3.1 of this version', () => {
    expect(document.openapi).toMatch(/^3\.1\./)
    expect(document.info).toMatchObject({ title: 'Carillon', version: '1.2.3' })
  })

  it('has every route of the server and nothing else', () => {
    const documented = operations.map(({ path, method }) => `${method.toUpperCase()} ${path}`)
    const registered = routes
      .filter(({ method }) => method !== 'HEAD')
      .map(({ method, url }) => `${method} ${url.replace(/:(\w+)/g, '{$1}')}`)
    expect(documented.sort()).toEqual(registered.sort())
    expect(documented).toContain('POST /api/v1/jobs')
    expect(documented).toContain('GET /api/v1/openapi.json')
  })

  it('leaves out the files of the dashboard', async () => {
    const { app } = buildApp(httpOptions({ dashboardDir }))
    const withDashboard = (await app.inject('/api/v1/openapi.json')).json<Document>()
    expect(Object.keys(withDashboard.paths).sort()).toEqual(Object.keys(document.paths).sort())
  })

  it('names every operation once, with a summary, a tag and all parameters of its path', () => {
    const ids = operations.map(({ operation }) => operation.operationId)
    expect(new Set(ids).size).toBe(ids.length)
    for (const { path, operation } of operations) {
      expect(operation.operationId).toMatch(/^[a-z][A-Za-z]+$/)
      expect(operation.summary.length).toBeGreaterThan(5)
      expect(operation.tags).toHaveLength(1)
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
      const declared = (operation.parameters ?? []).filter((one) => one.in === 'path').map(({ name }) => name)
      expect(declared).toEqual(inPath)
    }
  })

  it('gives every error as a problem document, and only statuses and codes of the catalogue', () => {
    for (const { path, operation } of operations) {
      const failures = Object.entries(operation.responses).filter(([status]) => Number(status) >= 400)
      expect(failures.length).toBeGreaterThan(0)
      for (const [status, { description, content = {} }] of failures) {
        if (/^\/(healthz|readyz)$/.test(path) && status === '503') continue
        expect(content).toEqual({
          'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } },
        })
        const codes = [...description.matchAll(/`(\w+)`/g)].map(([, code]) => code as ErrorCode)
        expect(codes.length).toBeGreaterThan(0)
        for (const code of codes) expect(errorCatalogue[code].status).toBe(Number(status))
      }
    }
  })

  it('names its components by their $id and leaves no reference hanging', () => {
    const names = Object.keys(document.components.schemas)
    expect(names.sort()).toEqual(
      [
        'Alert',
        'AlertList',
        'AlertSilenceInput',
        'AlertSilence',
        'AlertSilenceList',
        'AlertRuleInput',
        'AlertRulePatch',
        'AlertRule',
        'AlertRuleList',
        'AlertChannelInput',
        'AlertChannelPatch',
        'AlertChannel',
        'AlertChannelList',
        'AlertChannelTest',
        'ApiKey',
        'ApiKeyList',
        'AttemptReport',
        'Backfill',
        'BackfillInput',
        'BackfillList',
        'BackfillPlan',
        'LoadForecast',
        'LoadSuggestion',
        'MoveInput',
        'RestoreInput',
        'SkipInput',
        'Tick',
        'TickList',
        'AuditEntry',
        'AuditList',
        'KeyInput',
        'RevealedKey',
        'RotateKeyInput',
        'Self',
        'ServiceStatus',
        'Tenant',
        'TenantInput',
        'TenantList',
        'TenantPatch',
        'CloseAnswer',
        'CloseInput',
        'HeartbeatAnswer',
        'HeartbeatInput',
        'Lease',
        'LeaseAnswer',
        'LeaseInput',
        'RunRef',
        'Blackout',
        'Brake',
        'BrakeInput',
        'BrakeState',
        'BulkAnswer',
        'BulkInput',
        'BulkResult',
        'Calendar',
        'CalendarInput',
        'CalendarList',
        'CancelJobInput',
        'ExplainInput',
        'JobUpsertInput',
        'JobVersion',
        'JobVersionList',
        'PreviewInput',
        'PreviewTick',
        'RollbackInput',
        'ScheduleExplanation',
        'SchedulePreview',
        'JobPatch',
        'PauseInput',
        'ClusterView',
        'CommandTarget',
        'DeadLetter',
        'DeadLetterDetail',
        'DeadLetterGroup',
        'DeadLetterGroupList',
        'DeadLetterList',
        'Discarded',
        'Event',
        'EventList',
        'Finding',
        'HttpTarget',
        'Job',
        'JobDryRun',
        'JobInput',
        'OperationFilter',
        'JobList',
        'Operation',
        'OperationInput',
        'OperationList',
        'OperationPreview',
        'Problem',
        'Redrive',
        'RedriveFilter',
        'RedriveInput',
        'RedriveList',
        'RevealedSigningSecret',
        'RotateInput',
        'SigningSecret',
        'SigningSecretList',
        'Run',
        'RunArray',
        'RunAttempt',
        'RunCounts',
        'RunDetail',
        'Stats',
        'StatsHistory',
        'RunList',
        'Target',
        'TargetBreaker',
        'TargetHost',
        'TargetHostList',
        'TargetLimits',
        'TargetLimitsInput',
        'TaskTarget',
        'Verification',
        'Why',
      ].sort(),
    )
    const references = everyReference(document)
    expect(references.length).toBeGreaterThan(20)
    for (const reference of references) {
      expect(names).toContain(/^#\/components\/schemas\/(\w+)$/.exec(reference)?.[1])
    }
  })

  it('tells the kinds of target apart by their type', () => {
    expect(document.components.schemas['Target']).toMatchObject({
      oneOf: [
        { $ref: '#/components/schemas/HttpTarget' },
        { $ref: '#/components/schemas/TaskTarget' },
        { $ref: '#/components/schemas/CommandTarget' },
      ],
      discriminator: { propertyName: 'type' },
    })
  })
})
