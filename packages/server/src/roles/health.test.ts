import { describe, expect, it } from 'vitest'
import { loadConfig } from '../config.js'
import type { Membership } from '../cluster/membership.js'
import type { FleetSigns } from '../pipeline/monitor/fleet-sample.js'
import { systemClock } from '../platform/clock.js'
import type { Service } from '../platform/service.js'
import { Standing } from '../platform/standing.js'
import { composeHealth, type HealthParts } from './health.js'

let now = 0
const clock = { ...systemClock, monotonic: () => now }

function loopOf(name: string, given: { since?: number; inPass?: number } = {}): Service {
  return { name, sinceProgressMs: () => given.since ?? 0, inPassMs: () => given.inPass ?? 0 } as Service
}

function healthOf(parts: Partial<HealthParts> = {}, roles = 'scheduler', schedulers = 1) {
  const membership = {
    incarnation: 1,
    live: (role: string) => (role === 'scheduler' ? Array.from({ length: schedulers }, (_, at) => at) : [1]),
  } as unknown as Membership
  now = 0
  const health = composeHealth(
    { config: loadConfig({ env: { CARILLON_ROLES: roles } }), clock, membership },
    {
      ...{ heartbeat: loopOf('heartbeat'), standing: { away: null }, fleet: { latest: () => null } },
      ...{ ownership: null, loops: [] },
      ...parts,
    },
  )
  now = 60_000
  return health
}

const without = (withoutMs: number, isSpare = false) => ({
  ownership: { withoutMs: () => withoutMs, isSpare: () => isSpare, current: () => [] },
})
const owners = (count: number) => ({
  fleet: { latest: () => ({ sample: { owners: count } as FleetSigns, ageMs: 0 }) },
})

describe('live', () => {
  it('is a process none of whose loops hangs, whatever the database does', () => {
    expect(healthOf({ heartbeat: loopOf('heartbeat', { since: 9_999_999 }) }).live()).toBe(true)
    expect(healthOf({ heartbeat: loopOf('heartbeat', { inPass: 300_001 }) }).live()).toBe(false)
    for (const name of ['own', 'fire', 'lease', 'revocations'])
      expect([name, healthOf({ loops: [loopOf(name, { inPass: 300_001 })] }).live()]).toEqual([name, false])
    expect(healthOf({ loops: [loopOf('fire', { inPass: 300_000 })] }).live()).toBe(true)
    // Dropping a day of the ledger may take its time.
    expect(healthOf({ loops: [loopOf('upkeep', { inPass: 3_600_000 })] }).live()).toBe(true)
  })
})

describe('ready', () => {
  it('is one whose heartbeats reach the database', async () => {
    expect(await healthOf().ready()).toMatchObject({ ready: true })
    const silent = await healthOf({ heartbeat: loopOf('heartbeat', { since: 2_001 }) }).ready()
    expect(silent).toMatchObject({ ready: false, checks: { database: { ok: false } } })
  })

  it('is one that has begun to work and does not leave', async () => {
    const standing = new Standing()
    const health = healthOf({ standing })
    const seen = async () => (await health.ready()).checks['process']
    expect(await seen()).toEqual({ ok: false, detail: 'starting' })
    standing.begin()
    expect(await seen()).toEqual({ ok: true })
    expect(health.status().reasons.map(({ code }) => code)).not.toContain('draining')
    standing.leave()
    expect(await seen()).toEqual({ ok: false, detail: 'draining' })
    expect(health.status().reasons.map(({ code }) => code)).toContain('draining')
  })

  it('is a scheduler that owns something, or has not been without for long', async () => {
    expect(await healthOf(without(0)).ready()).toMatchObject({ ready: true })
    expect(await healthOf(without(20_000)).ready()).toMatchObject({ ready: true })
    const idle = await healthOf(without(20_001), 'scheduler', 2).ready()
    expect(idle).toMatchObject({ ready: false, checks: { ownership: { ok: false } } })
    expect(idle.checks['ownership']?.detail).toContain('others have them')
  })

  it('is, without partitions, one that also serves the API', async () => {
    const serving = await healthOf(without(99_000), 'api,scheduler').ready()
    expect(serving).toMatchObject({ ready: true })
    expect(serving.checks).not.toHaveProperty('ownership')
  })

  it('is a spare scheduler, unless nobody owns anything', async () => {
    expect(await healthOf(without(0, true), 'scheduler', 46).ready()).toMatchObject({ ready: true })
    expect(await healthOf({ ...without(0, true), ...owners(45) }).ready()).toMatchObject({ ready: true })
    expect(await healthOf({ ...without(0, true), ...owners(0) }).ready()).toMatchObject({
      ready: false,
      checks: { ownership: { ok: false, detail: 'no scheduler owns a partition' } },
    })
    expect(await healthOf({ ...without(0), ...owners(0) }).ready()).toMatchObject({ ready: true })
  })
})
