import { describe, expect, it } from 'vitest'
import { describeConfig } from './describe.js'
import { loadConfig } from './load.js'
import { settingList } from './settings.js'

function rowOf(name: string, sources: Parameters<typeof loadConfig>[0]) {
  return describeConfig(loadConfig(sources)).find((row) => row.name === name)
}

describe('describeConfig', () => {
  it('has one row per setting, in the order of the table', () => {
    const names = describeConfig(loadConfig({ env: {} })).map(({ name }) => name)
    expect(names).toEqual(settingList.map(({ setting }) => setting.env))
  })

  it('masks the password of the database and nothing else of its URL', () => {
    const env = { DATABASE_URL: 'postgres://carillon:hunter2@db:5432/c?sslmode=require' }
    expect(rowOf('DATABASE_URL', { env })?.value).toBe('postgres://carillon:****@db:5432/c?sslmode=require')
  })

  it('shows nothing of the API key', () => {
    expect(rowOf('CARILLON_API_KEY', { env: { CARILLON_API_KEY: 'hunter2' } })?.value).toBe('****')
  })

  it('keeps every secret out of the whole description', () => {
    const env = {
      DATABASE_URL: 'postgres://u:hunter2@db/d',
      CARILLON_API_KEY: 'hunter2',
      CARILLON_URL: 'http://u:hunter2@h',
    }
    expect(JSON.stringify(describeConfig(loadConfig({ env })))).not.toContain('hunter2')
  })

  it('says where each value came from', () => {
    const sources = { env: { CARILLON_HOST: '::1', CARILLON_PORT: '1' }, flags: { port: '2' } }
    expect(rowOf('CARILLON_HOST', sources)).toMatchObject({
      value: '::1',
      source: 'environment CARILLON_HOST',
    })
    expect(rowOf('CARILLON_PORT', sources)).toMatchObject({ value: '2', source: 'flag --port' })
    expect(rowOf('CARILLON_POOL_SIZE', sources)).toMatchObject({ value: '10', source: 'default' })
  })

  it('says what a value that is not set means', () => {
    expect(rowOf('DATABASE_URL', { env: {} })?.value).toBe('(none: an embedded Postgres)')
  })

  it('lists several values with commas', () => {
    expect(rowOf('CARILLON_ROLES', { env: {} })?.value).toBe('api,scheduler,worker')
  })
})
