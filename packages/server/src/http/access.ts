import { CarillonError, type Role } from '@carillon/contract'
import type { Caller } from '../platform/caller.js'
import { defaultTenant } from './tenant.js'

/** What a call needs. */
export interface Need {
  /** This role or one above it. */
  role: 'viewer' | 'operator' | 'admin'
  /** A worker may call it, too. */
  worker?: true
  /** It concerns every tenant: only keys of the tenant `default` may. */
  fleet?: true
}

const read: Need = { role: 'viewer' }
const readForWork: Need = { role: 'viewer', worker: true }
const change: Need = { role: 'operator' }
const own: Need = { role: 'admin' }
/** An operator runs jobs and does not pose as the worker that runs them. */
const work: Need = { role: 'admin', worker: true }
const readFleet: Need = { role: 'viewer', fleet: true }
const changeFleet: Need = { role: 'operator', fleet: true }
const ownFleet: Need = { role: 'admin', fleet: true }

/**
 * Every operation of the API by its operationId, with what it needs. `open` needs no key. An operation that is missing here
 * is refused to everybody, and a test is red.
 */
export const needs: Readonly<Record<string, Need | 'open'>> = {
  getLiveness: 'open',
  getReadiness: 'open',
  getOpenApi: 'open',
  getReference: 'open',
  getMetrics: readFleet,

  createJob: change,
  listJobs: read,
  getJob: readForWork,
  deleteJob: change,
  pauseJob: change,
  resumeJob: change,
  triggerJob: change,
  editJob: change,
  cancelJob: change,
  getJobByName: readForWork,
  putJobByName: change,
  listJobVersions: read,
  getJobVersion: read,
  rollbackJob: change,
  previewSchedule: read,
  explainSchedule: read,
  createJobs: change,
  listTicks: read,
  skipTick: change,
  moveTick: change,
  restoreTick: change,
  startBackfill: change,
  listBackfills: read,
  listBackfillsOfJob: read,
  getBackfill: read,
  cancelBackfill: change,
  forecastLoad: read,
  suggestJitter: read,

  listRunsOfJob: read,
  listRuns: read,
  streamRuns: read,
  startOperation: change,
  listOperations: read,
  getOperation: read,
  cancelOperation: change,
  getStats: read,
  getStatsHistory: read,
  streamStats: read,
  getStatus: readForWork,
  getRun: readForWork,
  cancelRun: change,
  retryRun: change,
  listDeadLetters: read,
  groupDeadLetters: read,
  getDeadLetter: read,
  redriveDeadLetter: change,
  discardDeadLetter: change,
  discardDeadLetters: change,
  redriveDeadLetters: change,
  listRedrives: read,
  getRedrive: read,
  cancelRedrive: change,

  leaseRuns: work,
  sendHeartbeat: work,
  closeRuns: work,

  listTargets: read,
  getTarget: read,
  putTargetLimits: change,
  deleteTargetLimits: change,
  resetTarget: change,
  listCalendars: read,
  getCalendar: read,
  putCalendar: change,
  deleteCalendar: change,

  listSigningSecrets: read,
  revealSigningSecret: own,
  rotateSigningSecret: own,
  retireSigningSecret: own,

  whyTick: read,
  verifyTicks: read,
  listEvents: read,
  listAlerts: read,
  getAlert: read,
  resolveAlert: change,
  listAlertSilences: read,
  createAlertSilence: change,
  deleteAlertSilence: change,
  listAlertRules: read,
  createAlertRule: change,
  changeAlertRule: change,
  deleteAlertRule: change,
  listAlertChannels: read,
  createAlertChannel: own,
  changeAlertChannel: own,
  deleteAlertChannel: own,
  testAlertChannel: own,
  getCluster: readFleet,
  getBrake: read,
  setBrake: changeFleet,
  clearBrake: changeFleet,

  getSelf: readForWork,
  listKeys: own,
  createKey: own,
  rotateKey: own,
  revokeKey: own,
  listAudit: own,
  listTenants: ownFleet,
  createTenant: ownFleet,
  getTenant: ownFleet,
  changeTenant: ownFleet,
}

const ranks: Record<Role, number> = { worker: 0, viewer: 1, operator: 2, admin: 3 }

export function mayCall(need: Need, caller: Pick<Caller, 'role' | 'tenant'>): boolean {
  if (need.fleet === true && caller.tenant !== defaultTenant) return false
  if (caller.role === 'worker') return need.worker === true
  return ranks[caller.role] >= ranks[need.role]
}

/** Throws 403, with the role that is needed. */
export function checkNeed(operation: string, caller: Caller): void {
  const need = needs[operation]
  if (need === 'open') return
  if (need === undefined) throw new Error(`The operation ${operation} is missing in http/access.ts.`)
  if (mayCall(need, caller)) return
  const wanted = need.worker === true ? `${need.role} or worker` : need.role
  const where = need.fleet === true ? ' in the tenant "default", because it concerns the whole fleet' : ''
  const has = `${caller.actor === 'local' ? 'the caller' : `the key ${JSON.stringify(caller.actor)}`} has the role ${caller.role}`
  const home = need.fleet === true ? ` in the tenant ${JSON.stringify(caller.tenantName)}` : ''
  throw new CarillonError('forbidden', { detail: `This needs the role ${wanted}${where}; ${has}${home}.` })
}
