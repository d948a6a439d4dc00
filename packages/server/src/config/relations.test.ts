import { describe, expect, it } from 'vitest'
import { loadConfig } from './load.js'
import { ConfigError } from './problem.js'
import { relationHolds, relations } from './relations.js'
import { settings } from './settings.js'

type Env = Readonly<Record<string, string>>

/** For each relation the nearest values that break it alone, and the nearest that do not. */
const edges: Readonly<Record<string, { breaks: Env; holds: Env }>> = {
  'renewals fit in the lease': {
    breaks: { CARILLON_LEASE_RENEW_SECONDS: '3', CARILLON_LEASE_TTL_SECONDS: '9' },
    holds: { CARILLON_LEASE_RENEW_SECONDS: '3', CARILLON_LEASE_TTL_SECONDS: '9.001' },
  },
  'heartbeats fit in the lease': {
    breaks: { CARILLON_HEARTBEAT_MS: '5000' },
    holds: { CARILLON_HEARTBEAT_MS: '4999' },
  },
  'a run outlasts a takeover': {
    breaks: { CARILLON_RUN_LEASE_SECONDS: '9.999' },
    holds: { CARILLON_RUN_LEASE_SECONDS: '10' },
  },
  'a takeover misses nothing': {
    breaks: { CARILLON_LATE_TOLERANCE_SECONDS: '10' },
    holds: { CARILLON_LATE_TOLERANCE_SECONDS: '10.001' },
  },
  'scans run ahead of staging': {
    breaks: { CARILLON_SCAN_INTERVAL_MS: '2000' },
    holds: { CARILLON_SCAN_INTERVAL_MS: '1999' },
  },
  'polls run ahead of leasing': {
    breaks: { CARILLON_LEASE_POLL_MS: '500' },
    holds: { CARILLON_LEASE_POLL_MS: '499' },
  },
  'only staged runs are leased': {
    breaks: { CARILLON_LEASE_AHEAD_MS: '2001' },
    holds: { CARILLON_LEASE_AHEAD_MS: '2000' },
  },
}

function problemsOf(env: Env) {
  try {
    loadConfig({ env })
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
}

describe('relations', () => {
  it('are each tested at their edge', () => {
    expect(Object.keys(edges).sort()).toEqual(relations.map(({ name }) => name).sort())
  })

  it.each(relations)('"$name" is refused when broken, with both settings and their values', (relation) => {
    const env = edges[relation.name]?.breaks ?? {}
    const problems = problemsOf(env)
    expect(problems.map(({ where }) => where)).toEqual([relation.name])
    expect(problems[0]?.message).toContain(`${settings[relation.smaller].env} is `)
    expect(problems[0]?.message).toContain(`${settings[relation.larger].env} is `)
    for (const [name, value] of Object.entries(env)) {
      expect(problems[0]?.message).toContain(`${name} is ${value} (environment ${name})`)
    }
  })

  it.each(relations)('"$name" is content with values that just keep it', (relation) => {
    expect(problemsOf(edges[relation.name]?.holds ?? {})).toEqual([])
  })

  it.each(relations)('"$name" holds for the defaults', (relation) => {
    expect(relationHolds(relation, loadConfig({ env: {} }))).toBe(true)
  })

  it('are not held against a value that is refused already', () => {
    const problems = problemsOf({ CARILLON_LEASE_TTL_SECONDS: '100000' })
    expect(problems.map(({ where }) => where)).toEqual(['CARILLON_LEASE_TTL_SECONDS'])
  })

  it('together leave room for two heartbeats in the lease of a run', () => {
    const problems = problemsOf({ CARILLON_RUN_LEASE_SECONDS: '10', CARILLON_HEARTBEAT_MS: '5001' })
    expect(problems.map(({ where }) => where)).toContain('heartbeats fit in the lease')
  })
})

describe('the default of the renewal interval', () => {
  it.each([
    ['1', 0.3],
    ['6', 1.8],
    ['10', 3],
    ['12', 3],
  ])('fits a lease of %s s', (ttl, renew) => {
    const config = loadConfig({ env: { CARILLON_LEASE_TTL_SECONDS: ttl } })
    expect(config.leaseRenewSeconds).toBe(renew)
    expect(config.provenance.leaseRenewSeconds).toBe('default')
  })

  it('gives way to a value that was asked for', () => {
    const env = { CARILLON_LEASE_TTL_SECONDS: '6', CARILLON_LEASE_RENEW_SECONDS: '1' }
    expect(loadConfig({ env }).leaseRenewSeconds).toBe(1)
  })
})
