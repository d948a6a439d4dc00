import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, expectTypeOf, it, vi } from 'vitest'
import type { Config, ConfigSources } from './config.js'
import { ConfigError, loadConfig, loopbackOnly, readEnvironment, settingFlags } from './config.js'

function refusal(sources: ConfigSources): ConfigError {
  try {
    loadConfig(sources)
  } catch (error) {
    if (error instanceof ConfigError) return error
    throw error
  }
  throw new Error('loadConfig accepted what it should refuse')
}

describe('loadConfig', () => {
  it('has the documented defaults', () => {
    const { provenance, ...values } = loadConfig({ env: {}, cwd: '/srv/app' })
    expect(values).toEqual({
      databaseUrl: undefined,
      dataDir: '/srv/app/.carillon',
      poolSize: 10,
      taskPoolSize: 5,
      statementTimeoutMs: 10_000,
      roles: ['api', 'scheduler', 'worker'],
      tasks: undefined,
      drainSeconds: 25,
      leaseTtlSeconds: 10,
      leaseRenewSeconds: 3,
      heartbeatMs: 250,
      stageAheadMs: 2_000,
      scanIntervalMs: 500,
      lateToleranceSeconds: 15,
      overloadLagSeconds: 10,
      horizonSeconds: 600,
      wheelCapacity: 2_000_000,
      catchUpPerSecond: 10,
      maxBackfillTicks: 10_000,
      largeCatchUpTicks: 1_000,
      alertEverySeconds: 5,
      alertResolveDelaySeconds: 30,
      alertResendSeconds: 60,
      deadManUrl: undefined,
      deadManSeconds: 60,
      workerConcurrency: 200,
      runLeaseSeconds: 30,
      leaseAheadMs: 1_000,
      leasePollMs: 100,
      closeBatchMs: 10,
      allowedNetworks: [],
      allowCommands: false,
      maxJobs: 100_000,
      monitorTag: 'monitor',
      maxMonitoredJobs: 100,
      otlpEndpoint: undefined,
      otlpHeaders: undefined,
      otlpServiceName: 'carillon',
      traceOneIn: 1,
      createPerSecond: 0,
      minIntervalSeconds: 60,
      oneOffRetentionHours: 24,
      ledgerRetentionDays: 90,
      ledgerDaysAhead: 7,
      host: '127.0.0.1',
      port: 7420,
      requireKeys: false,
      maxBodyBytes: 1_048_576,
      maxBulkBodyBytes: 33_554_432,
      logLevel: 'info',
      logFormat: 'auto',
      url: 'http://127.0.0.1:7420',
      apiKey: undefined,
    })
    expect(new Set(Object.values(provenance))).toEqual(new Set(['default']))
  })

  it('infers the type of each value from the table', () => {
    expectTypeOf<Config['port']>().toEqualTypeOf<number>()
    expectTypeOf<Config['databaseUrl']>().toEqualTypeOf<string | undefined>()
    expectTypeOf<Config['host']>().toEqualTypeOf<string>()
    expectTypeOf<Config['roles']>().toEqualTypeOf<readonly ('api' | 'scheduler' | 'worker')[]>()
    expectTypeOf<Config['logFormat']>().toEqualTypeOf<'auto' | 'json' | 'pretty'>()
    expectTypeOf<Config['allowedNetworks']>().toEqualTypeOf<readonly string[]>()
  })

  it('prefers a flag to the environment and the environment to the default, and remembers which', () => {
    const env = { CARILLON_HOST: '0.0.0.0', CARILLON_PORT: '8000' }
    const config = loadConfig({ env, flags: { port: '9000' } })
    expect(config).toMatchObject({ host: '0.0.0.0', port: 9000, logLevel: 'info' })
    expect(config.provenance).toMatchObject({
      host: 'environment CARILLON_HOST',
      port: 'flag --port',
      logLevel: 'default',
    })
  })

  it('does not take an undefined flag for given', () => {
    const config = loadConfig({ env: { CARILLON_PORT: '8000' }, flags: { port: undefined } })
    expect(config.port).toBe(8000)
    const unset: object = { prot: undefined }
    expect(loadConfig({ env: {}, flags: unset }).port).toBe(7420)
  })

  it('collects repeated roles, without doubles', () => {
    const config = loadConfig({
      env: { CARILLON_ROLES: 'scheduler' },
      flags: { roles: ['worker', 'api', 'worker'] },
    })
    expect(config.roles).toEqual(['api', 'worker'])
    expect(config.provenance.roles).toBe('flag --role')
  })

  it('takes the last of a flag that is no list', () => {
    expect(loadConfig({ env: {}, flags: { port: ['1', '2'] } }).port).toBe(2)
  })

  it('takes numbers from callers that have parsed their flags', () => {
    expect(loadConfig({ env: {}, flags: { port: 0 } }).port).toBe(0)
  })

  it('resolves paths from the working folder', () => {
    const env = { CARILLON_DATA_DIR: 'data', CARILLON_TASKS: '../tasks.js' }
    expect(loadConfig({ env, cwd: '/srv/app' })).toMatchObject({
      dataDir: '/srv/app/data',
      tasks: '/srv/tasks.js',
    })
  })

  it('overlooks space around a value, such as the line end of a secret file', () => {
    expect(loadConfig({ env: { DATABASE_URL: ' postgres://db/d\n' } }).databaseUrl).toBe('postgres://db/d')
  })

  it('cannot be changed after it was read', () => {
    const config = loadConfig({ env: { CARILLON_ROLES: 'api' } })
    expect(Object.isFrozen(config)).toBe(true)
    expect(Object.isFrozen(config.roles)).toBe(true)
    expect(Object.isFrozen(config.provenance)).toBe(true)
  })
})

describe('a refusal', () => {
  it('names variable, value, what is expected and an example', () => {
    expect(refusal({ env: { CARILLON_PORT: 'http' } }).problems).toEqual([
      {
        where: 'CARILLON_PORT',
        message:
          'CARILLON_PORT is "http": expected a port number from 0 to 65535, for example CARILLON_PORT=7420',
      },
    ])
  })

  it('names the flag where the flag was wrong', () => {
    const { message } = refusal({ env: {}, flags: { roles: ['api', 'boss'] } })
    expect(message).toContain('--role is "api,boss": expected one or more of api, scheduler, worker')
  })

  it('reports all problems at once, each on its line', () => {
    const error = refusal({
      env: { CARILLON_PROT: '1', CARILLON_POOL_SIZE: 'many', CARILLON_LATE_TOLERANCE_SECONDS: '5' },
      flags: { logLevel: 'loud' },
    })
    const where = ['CARILLON_PROT', 'CARILLON_POOL_SIZE', '--log-level', 'a takeover misses nothing']
    expect(error.problems.map((problem) => problem.where)).toEqual(where)
    const lines = error.message.split('\n')
    expect(lines[0]).toBe('The configuration has 4 problems:')
    expect(lines.slice(1, 5)).toEqual(error.problems.map(({ message }) => `  - ${message}`))
  })

  it.each(['DATABASE_URL', 'CARILLON_PORT', 'CARILLON_ROLES', 'CARILLON_TASKS', 'CARILLON_API_KEY'])(
    'meets an empty %s, which is a value that did not arrive',
    (name) => {
      expect(refusal({ env: { [name]: '' } }).message).toContain(`${name} is set but empty`)
    },
  )

  it('does not meet an empty list of networks', () => {
    expect(loadConfig({ env: { CARILLON_ALLOWED_NETWORKS: '' } }).allowedNetworks).toEqual([])
  })

  it('never repeats a secret', () => {
    const env = {
      DATABASE_URL: 'mysql://u:hunter2@db/d',
      CARILLON_API_KEY: 'hunter2 hunter2',
      CARILLON_API_KYE: 'hunter2',
      CARILLON_URL: 'ftp://u:hunter2@host',
    }
    const { message, problems } = refusal({ env })
    expect(problems).toHaveLength(4)
    expect(message).not.toContain('hunter2')
    expect(message).toContain('"mysql://u:****@db/d"')
  })

  it('keeps control characters and endless values off the terminal', () => {
    const { message } = refusal({ env: { CARILLON_HOST: `\u001b[2J${'x'.repeat(5_000)}` } })
    expect(message).not.toContain('\u001b')
    expect(message.length).toBeLessThan(600)
  })

  it('meets a flag that belongs to no setting', () => {
    const flags: object = { prot: '1' }
    expect(refusal({ env: {}, flags }).message).toContain('the flag for "prot" belongs to no setting')
  })

  it('meets a setting given as a flag that it does not have', () => {
    const flags: object = { apiKey: 'hunter2' }
    const { message } = refusal({ env: {}, flags })
    expect(message).toContain('"apiKey"')
    expect(message).not.toContain('hunter2')
  })
})

describe('settingFlags', () => {
  it('tells a command line which flags there are and which repeat', () => {
    expect(settingFlags.map(({ flag }) => flag)).toContain('--tasks')
    expect(settingFlags.filter(({ repeatable }) => repeatable).map(({ flag }) => flag)).toEqual(['--role'])
    expect(settingFlags.filter(({ audience }) => audience === 'client').map(({ flag }) => flag)).toEqual([
      '--url',
      '--profile',
    ])
  })
})

describe('readEnvironment', () => {
  afterEach(() => vi.unstubAllEnvs())

  it('gives a snapshot that later changes do not reach', () => {
    vi.stubEnv('CARILLON_PORT', '1')
    const env = readEnvironment()
    vi.stubEnv('CARILLON_PORT', '2')
    expect(env.CARILLON_PORT).toBe('1')
  })

  it('is the only place in the server that reads the environment', () => {
    const readers = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
      .filter((file) => /process\s*\??\.\s*env\b|process\[|\benv\b.*from 'node:process'/.test(source(file)))
    expect(readers).toEqual(['config.ts'])
    expect(source('config.ts').match(/process\.env/g)).toHaveLength(1)
  })

  function source(file: string): string {
    return readFileSync(join(import.meta.dirname, file), 'utf8')
  }
})

describe('loopbackOnly', () => {
  it.each([
    ['127.0.0.1', true],
    ['::1', true],
    ['localhost', true],
    ['0.0.0.0', false],
    ['::', false],
    ['192.168.0.10', false],
  ])('with the API on %s is %s', (host, expected) => {
    expect(loopbackOnly(loadConfig({ env: { CARILLON_HOST: host } }))).toBe(expected)
  })
})
