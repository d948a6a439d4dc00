import { describe, expect, it } from 'vitest'
import { settingList } from './settings.js'
import { unknownNames } from './unknown-names.js'

describe('unknownNames', () => {
  it.each([
    ['CARILLON_PROT', 'CARILLON_PORT'],
    ['CARILLON_ROLE', 'CARILLON_ROLES'],
    ['CARILLON_LOGLEVEL', 'CARILLON_LOG_LEVEL'],
    ['CARILLON_LEASE_TTL', 'CARILLON_LEASE_TTL_SECONDS'],
    ['CARILLON_HEARTBEAT_SECONDS', 'CARILLON_HEARTBEAT_MS'],
    ['CARILLON_RETENTION_DAYS', 'CARILLON_LEDGER_RETENTION_DAYS'],
    ['CARILLON_CONCURRENCY', 'CARILLON_WORKER_CONCURRENCY'],
    ['CARILLON_DATABASE_URL', 'DATABASE_URL'],
    ['CARILLON_LEASE_SECONDS', 'CARILLON_LEASE_TTL_SECONDS'],
    ['CARILLON_API_KYE', 'CARILLON_API_KEY'],
    ['carillon_host', 'CARILLON_HOST'],
  ])('refuses %s and suggests %s', (name, suggestion) => {
    const problems = unknownNames({ [name]: 'a-value' })
    expect(problems).toEqual([
      { where: name, message: `${name} is not a setting: did you mean ${suggestion}?` },
    ])
  })

  it.each(['CARILLON_ZZZZZZ', 'CARILLON_FOO_SECONDS', 'CARILLON_'])(
    'refuses %s, which resembles nothing, without a far-fetched suggestion',
    (name) => {
      expect(unknownNames({ [name]: '1' })[0]?.message).toContain(`${name} is not a setting: remove it`)
    },
  )

  it('suggests the setting for every name with one letter lost', () => {
    for (const { setting } of settingList.filter(({ setting }) => setting.env.startsWith('CARILLON_'))) {
      const name = setting.env.slice(0, -1)
      expect(unknownNames({ [name]: '' })[0]?.message).toContain(`did you mean ${setting.env}?`)
    }
  })

  it('accepts every setting, the switch of the tests, and whatever is not ours', () => {
    const env = Object.fromEntries(settingList.map(({ setting }) => [setting.env, 'x']))
    expect(unknownNames({ ...env, CARILLON_REQUIRE_ALL: '1', PATH: '/bin', MY_CARILLON_PROT: '1' })).toEqual(
      [],
    )
  })

  it('does not take a name without a value for given', () => {
    expect(unknownNames({ CARILLON_PROT: undefined })).toEqual([])
  })

  it('explains the names that Kubernetes adds for a Service, in one problem', () => {
    const problems = unknownNames({
      CARILLON_SERVICE_HOST: '10.0.0.1',
      CARILLON_SERVICE_PORT: '7420',
      CARILLON_SERVICE_PORT_HTTP: '7420',
      CARILLON_PORT: 'tcp://10.0.0.1:7420',
      CARILLON_PORT_7420_TCP: 'tcp://10.0.0.1:7420',
      CARILLON_PORT_7420_TCP_ADDR: '10.0.0.1',
      CARILLON_API_PORT: 'tcp://10.0.0.2:7420',
    })
    expect(problems).toHaveLength(1)
    expect(problems[0]?.message).toContain('enableServiceLinks: false')
    expect(problems[0]?.message).toContain('CARILLON_API_PORT, CARILLON_PORT, CARILLON_PORT_7420_TCP,')
  })
})
