import type { ClusterFacts, MigrationStatus, ServerFacts } from '@carillon/server'
import { describe, expect, it } from 'vitest'
import {
  judgeClock,
  judgeDurability,
  judgePartitions,
  judgeProcesses,
  judgeSchema,
  judgeVersion,
} from './database.js'
import { checkNode, judgeDisk } from './machine.js'
import { judgeAnswer } from './port.js'
import { judgeEmbedded } from './postgres.js'

const server: ServerFacts = {
  version: '18.4',
  version_number: 180_004,
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  standby: false,
  now: 0,
}
const schema: MigrationStatus = { current: 2, newest: 2, applied: [], pending: [], changed: [] }
const process: ClusterFacts['processes'][number] = {
  node: 'node_1',
  host: 'h',
  pid: 1,
  roles: ['api', 'scheduler', 'worker'],
  tasks: [],
  code_version: '0.1.0',
  started_at: 0,
  silent_ms: 100,
  partitions: 256,
}
const ttlMs = 10_000

describe('node', () => {
  it.each([
    ['20.19.0', 'ok'],
    ['20.18.9', 'fail'],
    ['18.20.0', 'fail'],
    ['22.0.0', 'ok'],
    ['24.1.0', 'ok'],
  ])('%s is %s', (version, status) => {
    expect(checkNode(version).status).toBe(status)
  })
})

describe('postgres', () => {
  it('fails when it is older than 14, or a standby', () => {
    expect(judgeVersion(server).status).toBe('ok')
    expect(judgeVersion({ ...server, version_number: 140_000 }).status).toBe('ok')
    expect(judgeVersion({ ...server, version_number: 139_999 }).status).toBe('fail')
    expect(judgeVersion({ ...server, standby: true }).status).toBe('fail')
  })

  it.each(['fsync', 'full_page_writes', 'synchronous_commit'] as const)('fails with %s off', (name) => {
    expect(judgeDurability({ ...server, [name]: 'off' })).toMatchObject({
      status: 'fail',
      says: expect.stringContaining(name) as string,
    })
  })

  it.each(['on', 'local', 'remote_write', 'remote_apply'])(
    'is durable with synchronous_commit %s',
    (value) => {
      expect(judgeDurability({ ...server, synchronous_commit: value }).status).toBe('ok')
    },
  )

  it('is not running, and no failure, where none was made or it is stopped', () => {
    expect(judgeEmbedded({ kind: 'none' }, '/d', '18')).toMatchObject({ status: 'skip' })
    expect(judgeEmbedded({ kind: 'stopped', madeBy: '18' }, '/d', '18')).toMatchObject({ status: 'skip' })
    expect(judgeEmbedded({ kind: 'stopped', madeBy: '17' }, '/d', '18').status).toBe('fail')
    expect(judgeEmbedded({ kind: 'not ready', pids: [7] }, '/d', '18').status).toBe('warn')
    expect(judgeEmbedded('EACCES', '/d', '18').status).toBe('fail')
  })
})

describe('schema', () => {
  it.each([
    ['current', schema, 'ok'],
    ['behind', { ...schema, current: 1 }, 'warn'],
    ['not there', { ...schema, current: 0 }, 'warn'],
    ['newer', { ...schema, current: 3 }, 'fail'],
    ['made with other files', { ...schema, changed: ['0001_house.sql'] }, 'fail'],
  ])('that is %s', (_what, status, verdict) => {
    expect(judgeSchema(status).status).toBe(verdict)
  })
})

describe('clock', () => {
  it('warns beyond a second in either direction, and says whose clock counts', () => {
    expect(judgeClock(1_000).status).toBe('ok')
    expect(judgeClock(-1_000).status).toBe('ok')
    expect(judgeClock(1_001)).toMatchObject({
      status: 'warn',
      says: expect.stringContaining('behind') as string,
    })
    expect(judgeClock(-5_000)).toMatchObject({
      status: 'warn',
      says: expect.stringMatching(/5\.0 s ahead .*Only the database's clock/) as string,
    })
  })
})

describe('processes and partitions', () => {
  it('are fine with a live process of every role that owns everything', () => {
    const facts = { processes: [process], unowned: [] }
    expect(judgeProcesses(facts, ttlMs).status).toBe('ok')
    expect(judgePartitions(facts, ttlMs).status).toBe('ok')
  })

  it('are worth a look without any process', () => {
    const facts = { processes: [], unowned: [0] }
    expect(judgeProcesses(facts, ttlMs)).toMatchObject({
      status: 'warn',
      todo: expect.stringContaining('up') as string,
    })
    expect(judgePartitions(facts, ttlMs).status).toBe('skip')
  })

  it('are worth a look with a silent process, which owns nothing', () => {
    const facts = { processes: [{ ...process, silent_ms: ttlMs + 1 }], unowned: [] }
    expect(judgeProcesses(facts, ttlMs).status).toBe('warn')
    expect(judgePartitions(facts, ttlMs).status).toBe('skip')
  })

  it('are worth a look where a role is missing', () => {
    const facts = { processes: [{ ...process, roles: ['api', 'worker'] }], unowned: [] }
    expect(judgeProcesses(facts, ttlMs)).toMatchObject({
      status: 'warn',
      says: expect.stringContaining('nothing fires') as string,
    })
  })

  it('are worth a look while partitions have no owner', () => {
    const check = judgePartitions({ processes: [process], unowned: [3, 4] }, ttlMs)
    expect(check).toMatchObject({ status: 'warn', says: expect.stringMatching(/^2 have/) as string })
  })
})

describe('port', () => {
  it('fails when a stranger has it', () => {
    expect(judgeAnswer('h:1', { stranger: 'HTTP 200' }).status).toBe('fail')
    expect(judgeAnswer('h:1', { ready: true }).status).toBe('ok')
    expect(judgeAnswer('h:1', { ready: false }).status).toBe('warn')
  })
})

describe('disk', () => {
  it.each([
    [100, 'ok'],
    [1, 'warn'],
    [0.05, 'fail'],
  ])('%d GiB is %s', (gibibytes, status) => {
    expect(judgeDisk(gibibytes * 2 ** 30, '/d').status).toBe(status)
  })
})
