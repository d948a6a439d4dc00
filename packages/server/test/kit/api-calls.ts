import { composeInterventions } from '../../src/roles/interventions.js'
import { Backfills } from '../../src/pipeline/register/backfills.js'
import { Operations } from '../../src/pipeline/register/bulk/operations.js'
import { Calendars } from '../../src/pipeline/register/calendars.js'
import { Secrets } from '../../src/pipeline/sign/secrets.js'
import { createKey } from '../../src/main.js'
import { alertIdOf, channelIdOf, ruleIdOf, runIdOf, silenceIdOf } from '../../src/platform/ids.js'
import { die } from './letters.js'
import type { TestNode } from './test-house.js'
import type { House } from './use-house.js'

export interface ApiCall {
  method: string
  path: string
  body?: object
  /** The same call about what is not there. Absent where it cannot miss. */
  missing?: string
}

export interface World {
  house: House
  node: TestNode
}

const newJob = { name: 'made', schedule: '* * * * *', target: { type: 'task', task: 'task' } }
const calendar = { dates: ['2026-12-25'] }
const noJob = 'job_00000000000000000000000000'

async function job({ node }: World) {
  return node.register({
    schedule: '0 0 1 1 *',
    target: { type: 'http', url: 'https://api.example.com/hook' },
  })
}

async function deadRun({ house, node }: World): Promise<string> {
  const [runId] = await die(house, node, await node.register({ schedule: '0 0 1 1 *' }))
  return runId ?? ''
}

async function queuedRun({ house, node }: World): Promise<string> {
  const { job_id: jobId } = await node.register({ schedule: '0 0 1 1 *' })
  await node.registry.trigger(1, jobId)
  const [run] = await house.query<Parameters<typeof runIdOf>[0]>(
    'SELECT due, job, origin, seq, partition FROM carillon.queue WHERE holder IS NULL ORDER BY due DESC LIMIT 1',
  )
  if (run === undefined) throw new Error('A triggered run is in the queue.')
  return runIdOf(run)
}

async function redrive({ node }: World): Promise<number> {
  const { deadLetters } = composeInterventions(node, { jobOf: () => Promise.resolve(0) })
  return (await deadLetters.startRedrive(1, { after: '2020-01-01T00:00:00Z' })).redrive
}

async function limited({ node }: World): Promise<string> {
  await node.targets.put(1, 'api.example.com', { rate_per_second: 5 })
  return 'api.example.com'
}

async function holiday({ node }: World): Promise<string> {
  await new Calendars({ database: node.database, onChanged: () => undefined }).put(1, 'holidays', calendar)
  return 'holidays'
}

async function retiringSecret({ node }: World): Promise<string> {
  const secrets = new Secrets(node.database)
  await secrets.rotate(1, {})
  const { data } = await secrets.list(1)
  return data.at(-1)?.id ?? ''
}

const nextTick = '2027-01-01T00:00:00Z'
const later = '2027-01-01T05:00:00Z'
const passedYears = { from: '2024-06-01T00:00:00Z', to: '2026-06-01T00:00:00Z' }

async function backfill(world: World): Promise<string> {
  const { job_id: id } = await job(world)
  const backfills = new Backfills({
    database: world.node.database,
    mostTicks: 100,
    jobOf: (tenant, jobId) => world.node.registry.find(tenant, jobId),
  })
  return (await backfills.start(1, id, passedYears)).backfill_id
}

async function operation(world: World): Promise<string> {
  await job(world)
  return (await new Operations(world.node.database).start(1, { action: 'pause', all: true })).operation_id
}

let keys = 0
async function someKey({ house, node }: World): Promise<string> {
  keys += 1
  const { key_id: id } = await createKey(node.database, { name: `spare-${keys}`, role: 'viewer' })
  // Arranging is no change of the caller's.
  await house.query("DELETE FROM carillon.audit_log WHERE request_id = 'database'")
  return id
}

async function someTenant({ house }: World): Promise<string> {
  keys += 1
  await house.query('INSERT INTO carillon.tenants (name) VALUES ($1)', [`spare-${keys}`])
  return `spare-${keys}`
}

async function alert({ house }: World): Promise<string> {
  keys += 1
  const [row] = await house.query<{ alert: number }>(
    "INSERT INTO carillon.alerts (tenant, kind, fingerprint, subject, detail) VALUES (1, 'slow_run', $1, 's', '{}') RETURNING alert",
    [`sample-${keys}`],
  )
  return alertIdOf(row?.alert ?? 0)
}

async function silence({ house }: World): Promise<string> {
  const [row] = await house.query<{ silence: string }>(
    `INSERT INTO carillon.alert_silences (silence, tenant, until, reason, created_by)
     VALUES (gen_random_uuid(), 1, carillon.now_ms() + 3600000, 'r', 'ann') RETURNING silence`,
  )
  return silenceIdOf(row?.silence ?? '')
}

async function alertRule({ house }: World): Promise<string> {
  keys += 1
  const [row] = await house.query<{ rule: string }>(
    "INSERT INTO carillon.alert_rules (rule, tenant, kind, tag) VALUES (gen_random_uuid(), 1, 'slow_run', $1) RETURNING rule",
    [`t-${keys}`],
  )
  return ruleIdOf(row?.rule ?? '')
}

async function alertChannel({ house }: World): Promise<string> {
  keys += 1
  const [row] = await house.query<{ channel: string }>(
    `INSERT INTO carillon.alert_channels (channel, tenant, name, type, settings)
     VALUES (gen_random_uuid(), 1, $1, 'webhook', '{"url": "http://127.0.0.1:9/secret"}') RETURNING channel`,
    [`ops-${keys}`],
  )
  return channelIdOf(row?.channel ?? '')
}

const about = (make: (world: World) => Promise<string | number>, call: (id: string) => ApiCall) => {
  return async (world: World) => call(String(await make(world)))
}
const jobId = async (world: World) => (await job(world)).job_id
const onJob = (action: string, body?: object) =>
  about(jobId, (id) => ({
    method: 'POST',
    path: `/jobs/${id}/${action}`,
    missing: `/jobs/${noJob}/${action}`,
    ...(body !== undefined && { body }),
  }))

/**
 * Every change that the API offers, by its operationId, each about something that exists in the tenant `default`. Called, it
 * must leave one entry in the audit; refused, none. A route that is missing here turns audit.test.ts red.
 */
export const changes: Record<string, (world: World) => Promise<ApiCall>> = {
  createJob: () => Promise.resolve({ method: 'POST', path: '/jobs', body: newJob }),
  editJob: about(jobId, (id) => ({
    method: 'PATCH',
    path: `/jobs/${id}`,
    missing: `/jobs/${noJob}`,
    body: { payload: { password: 'hunter2' }, max_retries: 7 },
  })),
  deleteJob: about(jobId, (id) => ({ method: 'DELETE', path: `/jobs/${id}`, missing: `/jobs/${noJob}` })),
  pauseJob: onJob('pause', { reason: 'moving' }),
  resumeJob: async (world) => {
    const { job_id: id } = await job(world)
    await world.node.registry.pause(1, id)
    return { method: 'POST', path: `/jobs/${id}/resume`, missing: `/jobs/${noJob}/resume` }
  },
  triggerJob: onJob('trigger'),
  cancelJob: onJob('cancel', { reason: 'over' }),
  createJobs: () => Promise.resolve({ method: 'POST', path: '/jobs/bulk', body: { jobs: [newJob] } }),
  putJobByName: () =>
    Promise.resolve({ method: 'PUT', path: '/jobs/by-name/made', body: { schedule: '* * * * *' } }),
  rollbackJob: async (world) => {
    const { job_id: id } = await job(world)
    await world.node.registry.edit(1, id, { max_retries: 9 })
    const path = `/jobs/${id}/rollback`
    return { method: 'POST', path, missing: `/jobs/${noJob}/rollback`, body: { version: 1 } }
  },
  skipTick: onJob('ticks/skip', { at: nextTick, reason: 'holiday' }),
  moveTick: onJob('ticks/move', { at: nextTick, to: later }),
  restoreTick: onJob('ticks/restore', { at: nextTick }),
  startBackfill: onJob('backfills', passedYears),
  cancelBackfill: about(backfill, (id) => ({
    method: 'POST',
    path: `/backfills/${id}/cancel`,
    missing: '/backfills/bf_00000zzzzzzzz/cancel',
  })),
  startOperation: async (world) => {
    await job(world)
    return { method: 'POST', path: '/operations', body: { action: 'pause', all: true } }
  },
  cancelOperation: about(operation, (id) => ({
    method: 'POST',
    path: `/operations/${id}/cancel`,
    missing: '/operations/op_00000000000000000000000000/cancel',
  })),
  cancelRun: about(queuedRun, (id) => ({
    method: 'POST',
    path: `/runs/${id}/cancel`,
    missing: `/runs/${noRun}/cancel`,
  })),
  retryRun: about(deadRun, (id) => ({
    method: 'POST',
    path: `/runs/${id}/retry`,
    missing: `/runs/${noRun}/retry`,
  })),
  redriveDeadLetter: about(deadRun, (id) => ({
    method: 'POST',
    path: `/dead-letters/${id}/redrive`,
    missing: `/dead-letters/${noRun}/redrive`,
    body: { payload: { password: 'hunter2' } },
  })),
  discardDeadLetter: about(deadRun, (id) => ({
    method: 'DELETE',
    path: `/dead-letters/${id}`,
    missing: `/dead-letters/${noRun}`,
  })),
  discardDeadLetters: about(deadRun, () => ({
    method: 'DELETE',
    path: '/dead-letters?after=2020-01-01T00:00:00Z',
  })),
  redriveDeadLetters: about(deadRun, () => ({
    method: 'POST',
    path: '/dead-letters/redrive',
    body: { after: '2020-01-01T00:00:00Z' },
  })),
  cancelRedrive: about(redrive, (id) => ({
    method: 'POST',
    path: `/redrives/${id}/cancel`,
    missing: '/redrives/999999999/cancel',
  })),
  putTargetLimits: () =>
    Promise.resolve({ method: 'PUT', path: '/targets/api.example.com', body: { rate_per_second: 5 } }),
  deleteTargetLimits: about(limited, (host) => ({
    method: 'DELETE',
    path: `/targets/${host}`,
    missing: '/targets/nobody.example.com',
  })),
  resetTarget: async (world) => {
    const host = await limited(world)
    await world.house.query("UPDATE carillon.targets SET state = 'open', since = 1, retry_at = 1")
    return { method: 'POST', path: `/targets/${host}/reset`, missing: '/targets/nobody.example.com/reset' }
  },
  putCalendar: () => Promise.resolve({ method: 'PUT', path: '/calendars/holidays', body: calendar }),
  deleteCalendar: about(holiday, (name) => ({
    method: 'DELETE',
    path: `/calendars/${name}`,
    missing: '/calendars/none',
  })),
  rotateSigningSecret: () => Promise.resolve({ method: 'POST', path: '/signing-secrets/rotate', body: {} }),
  retireSigningSecret: about(retiringSecret, (id) => ({
    method: 'DELETE',
    path: `/signing-secrets/${id}`,
    missing: '/signing-secrets/sgn_00000000000000000000000000',
  })),
  resolveAlert: about(alert, (id) => ({
    method: 'POST',
    path: `/alerts/${id}/resolve`,
    missing: '/alerts/alert_00000zzzzzzzz/resolve',
  })),
  createAlertSilence: async ({ house }) => ({
    method: 'POST',
    path: '/alert-silences',
    body: { kind: 'slow_run', until: new Date((await house.now()) + 60_000).toISOString(), reason: 'deploy' },
  }),
  deleteAlertSilence: about(silence, (id) => ({
    method: 'DELETE',
    path: `/alert-silences/${id}`,
    missing: '/alert-silences/sil_00000000000000000000000000',
  })),
  createAlertRule: () =>
    Promise.resolve({ method: 'POST', path: '/alert-rules', body: { kind: 'slow_run', enabled: false } }),
  changeAlertRule: about(alertRule, (id) => ({
    method: 'PATCH',
    path: `/alert-rules/${id}`,
    missing: '/alert-rules/rule_00000000000000000000000000',
    body: { enabled: false },
  })),
  deleteAlertRule: about(alertRule, (id) => ({
    method: 'DELETE',
    path: `/alert-rules/${id}`,
    missing: '/alert-rules/rule_00000000000000000000000000',
  })),
  createAlertChannel: () =>
    Promise.resolve({
      method: 'POST',
      path: '/alert-channels',
      body: { name: 'chat', type: 'slack', url: 'https://hooks.example.com/hunter2' },
    }),
  changeAlertChannel: about(alertChannel, (id) => ({
    method: 'PATCH',
    path: `/alert-channels/${id}`,
    missing: '/alert-channels/chn_00000000000000000000000000',
    body: { headers: { authorization: 'hunter2' } },
  })),
  deleteAlertChannel: about(alertChannel, (id) => ({
    method: 'DELETE',
    path: `/alert-channels/${id}`,
    missing: '/alert-channels/chn_00000000000000000000000000',
  })),
  testAlertChannel: about(alertChannel, (id) => ({
    method: 'POST',
    path: `/alert-channels/${id}/test`,
    missing: '/alert-channels/chn_00000000000000000000000000/test',
  })),
  setBrake: () =>
    Promise.resolve({
      method: 'PUT',
      path: '/brake',
      body: { window_factor: 2, for_seconds: 60, reason: 'storm' },
    }),
  clearBrake: async ({ house }) => {
    await house.query(
      `INSERT INTO carillon.brake (window_factor, catch_up_factor, reason, ends_at)
       VALUES (2, 1, 'storm', carillon.now_ms() + 60000)`,
    )
    return { method: 'DELETE', path: '/brake' }
  },
  createKey: () =>
    Promise.resolve({ method: 'POST', path: '/keys', body: { name: 'deploy', role: 'operator' } }),
  rotateKey: about(someKey, (id) => ({
    method: 'POST',
    path: `/keys/${id}/rotate`,
    missing: `/keys/${noKey}/rotate`,
  })),
  revokeKey: about(someKey, (id) => ({ method: 'DELETE', path: `/keys/${id}`, missing: `/keys/${noKey}` })),
  createTenant: async () => {
    keys += 1
    return Promise.resolve({
      method: 'POST',
      path: '/tenants',
      body: { name: `acme-${keys}`, max_concurrent: 3 },
    })
  },
  changeTenant: about(someTenant, (name) => ({
    method: 'PATCH',
    path: `/tenants/${name}`,
    missing: '/tenants/nobody',
    body: { weight: 200, max_concurrent: 5 },
  })),
}

/** What workers do with runs stands in the ledger, attempt by attempt: the audit is about what people change. */
export const notAudited = [
  ...['leaseRuns', 'sendHeartbeat', 'closeRuns'],
  // These ask, and change nothing.
  ...['previewSchedule', 'explainSchedule'],
]

const noRun = runIdOf({ due: 1, job: 1, origin: 0, seq: 0, partition: 0 })
const noKey = 'key_00000000000000000000000000'

/** An id of the tenant `default` for each parameter that routes have in their paths. One that is missing turns foreign-ids.test.ts red. */
export const samples: Record<string, (world: World) => Promise<string | number>> = {
  job_id: jobId,
  run_id: deadRun,
  redrive,
  host: limited,
  name: holiday,
  id: retiringSecret,
  key_id: someKey,
  tenant_name: () => Promise.resolve('default'),
  backfill_id: backfill,
  operation_id: operation,
  alert_id: alert,
  silence_id: silence,
  rule_id: alertRule,
  channel_id: alertChannel,
  job_name: async (world) => (await job(world)).name,
  version: () => Promise.resolve(1),
}
