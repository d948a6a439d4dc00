import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createLog, loadConfig, openPostgres } from '@carillon/server'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Ended } from './support/carillon.js'
import { carillon, jsonOf, newFolder, removeFolder, startServer, until } from './support/carillon.js'

interface Report {
  ok: boolean
  checks: { name: string; status: string; says: string; todo: string | null }[]
}

let folder: string
let postgres: Awaited<ReturnType<typeof openPostgres>>

beforeAll(async () => {
  folder = newFolder()
  const config = loadConfig({ env: { CARILLON_DATA_DIR: join(folder, 'postgres of the test') } })
  postgres = await openPostgres(config, createLog({ level: 'silent', format: 'json' }))
})

afterAll(async () => {
  await postgres.leave()
  removeFolder(folder)
})

/** A database of its own in the Postgres of this file. */
async function newDatabase(): Promise<string> {
  const name = `test_${Math.random().toString(36).slice(2)}`
  await query(postgres.url, `create database ${name}`)
  const url = new URL(postgres.url)
  url.pathname = `/${name}`
  return url.href
}

async function query(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}

function onDatabase(url: string, ...args: string[]): Promise<Ended> {
  return carillon(args, { env: { DATABASE_URL: url }, cwd: folder })
}

async function doctor(args: readonly string[], env: Record<string, string> = {}) {
  const ended = await carillon(['doctor', '--json', '--port', '0', ...args], { env, cwd: folder })
  const report = jsonOf<Report>(ended)
  return { ...ended, report, check: (name: string) => report.checks.find((check) => check.name === name) }
}

describe('migrate', () => {
  it('brings a database up to date once, and shows it', async () => {
    const url = await newDatabase()
    const before = jsonOf<{ current: number; pending: string[] }>(
      await onDatabase(url, 'migrate', '--status', '--json'),
    )
    expect(before).toMatchObject({ current: 0, applied: [] })
    expect(before.pending).toContain('0001_house.sql')
    const again = jsonOf(await onDatabase(url, 'migrate', '--status', '--json'))
    expect(again).toEqual(before)

    const first = jsonOf<{ from: number; to: number; applied: string[] }>(
      await onDatabase(url, 'migrate', '--json'),
    )
    expect(first).toEqual({ from: 0, to: before.pending.length, applied: before.pending })
    const second = await onDatabase(url, 'migrate')
    expect(second.stdout).toBe(`✓ The schema is up to date: version ${first.to}\n`)
    expect(second.code).toBe(0)
    const after = await onDatabase(url, 'migrate', '--status')
    expect(after.stdout).toMatch(/0001_house\.sql +applied +[-0-9]+ [:0-9]+ \(/)
    expect(after.stdout).toContain('up to date')
    expect(jsonOf(await onDatabase(url, 'migrate', '--status', '--json'))).toMatchObject({
      current: first.to,
      pending: [],
    })
  })

  it('makes no Postgres to look at its status, and one to migrate, which it stops again', async () => {
    const dataDir = join(folder, 'made by migrate')
    const looked = await carillon(['migrate', '--status', '--json', '--data-dir', dataDir])
    expect(jsonOf(looked)).toMatchObject({ current: 0, applied: [] })
    expect(existsSync(dataDir)).toBe(false)

    const { code, stdout } = await carillon(['migrate', '--data-dir', dataDir])
    expect(stdout).toMatch(/^✓ Migrated from version 0 to \d+:\n {2}0001_house\.sql\n/)
    expect(code).toBe(0)
    const status = jsonOf(await carillon(['migrate', '--status', '--json', '--data-dir', dataDir]))
    expect(status).toMatchObject({ pending: [] })
    const { check, code: healthy } = await doctor(['--data-dir', dataDir])
    expect(check('postgres')).toMatchObject({
      status: 'skip',
      says: expect.stringContaining('stopped') as string,
    })
    expect(healthy).toBe(0)
  })

  it('leaves a database of a newer carillon alone', async () => {
    const url = await newDatabase()
    await onDatabase(url, 'migrate')
    await query(url, "insert into carillon.migrations (version, name, checksum) values (9999, 'future', '')")
    const { code, stdout, stderr } = await onDatabase(url, 'migrate', '--json')
    expect(stderr).toContain('migrated by a newer carillon')
    expect(stdout).toBe('')
    expect(code).toBe(1)
    expect((await onDatabase(url, 'migrate', '--status')).stdout).toContain('newer carillon')
    const { check, code: unhealthy } = await doctor([], { DATABASE_URL: url })
    expect(check('schema')).toMatchObject({ status: 'fail', says: expect.stringContaining('9999') as string })
    expect(unhealthy).toBe(1)
  })

  it('says why a database cannot be reached, and not with which password', async () => {
    const { code, stdout, stderr } = await onDatabase(
      'postgres://me:hunter2@127.0.0.1:1/x',
      'migrate',
      '--json',
    )
    expect(stderr).toContain('ECONNREFUSED')
    expect(stderr).not.toContain('hunter2')
    expect(stdout).toBe('')
    expect(code).toBe(1)
  })
})

describe('doctor', () => {
  it('starts and makes nothing where no Postgres runs', async () => {
    const dataDir = join(folder, 'untouched')
    const { code, report, check } = await doctor(['--data-dir', dataDir])
    expect(check('postgres')).toMatchObject({
      status: 'skip',
      says: expect.stringMatching(/^not running/) as string,
    })
    expect(check('binaries')?.status).toBe('ok')
    expect(check('node')?.status).toBe('ok')
    expect(check('disk')?.status).toMatch(/ok|warn/)
    expect(report.ok).toBe(true)
    expect(code).toBe(0)
    expect(existsSync(dataDir)).toBe(false)
    expect(readdirSync(folder)).not.toContain('.carillon')
  })

  it('finds a running server in good health', async () => {
    const server = await startServer()
    try {
      const port = new URL(server.url).port
      // Ready means that it answers; its partitions come a moment later.
      const { code, report, stderr } = await until(async () => {
        const seen = await doctor(['--data-dir', server.dataDir, '--port', port])
        return seen.check('partitions')?.status === 'ok' ? seen : null
      })
      // Nobody named a server for the commands, and no tasks are loaded.
      expect(report.checks.filter(({ status }) => status !== 'ok').map(({ name }) => name)).toEqual([
        'server',
        'tasks',
      ])
      expect(report.checks.find(({ name }) => name === 'processes')?.says).toMatch(/^1 alive: node_/)
      expect(stderr).toBe('')
      expect(code).toBe(0)
    } finally {
      expect((await server.stop()).code).toBe(0)
    }
  })

  it('looks at a database without changing it', async () => {
    const url = await newDatabase()
    const { code, check } = await doctor([], { DATABASE_URL: url })
    expect(check('postgres')?.status).toBe('ok')
    expect(check('durability')?.status).toBe('ok')
    expect(check('clock')?.status).toBe('ok')
    expect(check('schema')).toMatchObject({ status: 'warn', says: 'not there yet' })
    expect(check('processes')?.status).toBe('skip')
    expect(code).toBe(0)
    await expect(query(url, 'select from carillon.migrations')).rejects.toThrow(/does not exist/)
  })

  it('fails where commits may be lost', async () => {
    const url = await newDatabase()
    await query(url, `alter database ${new URL(url).pathname.slice(1)} set synchronous_commit = off`)
    const { code, check } = await doctor([], { DATABASE_URL: url })
    expect(check('durability')).toMatchObject({
      status: 'fail',
      says: expect.stringContaining('synchronous_commit') as string,
    })
    expect(code).toBe(1)
  })

  it('sees that nobody is alive and that nobody owns the partitions', async () => {
    const url = await newDatabase()
    await onDatabase(url, 'migrate')
    const { code, check } = await doctor([], { DATABASE_URL: url })
    expect(check('schema')?.status).toBe('ok')
    expect(check('processes')).toMatchObject({
      status: 'warn',
      todo: expect.stringContaining('carillon up') as string,
    })
    expect(check('partitions')?.status).toBe('skip')
    expect(code).toBe(0)
  })

  it('fails with a database that does not answer, and keeps its password', async () => {
    const { code, stdout, check } = await doctor([], { DATABASE_URL: 'postgres://me:hunter2@127.0.0.1:1/x' })
    expect(check('postgres')).toMatchObject({
      status: 'fail',
      says: expect.stringContaining('ECONNREFUSED') as string,
    })
    expect(check('schema')?.status).toBe('skip')
    expect(stdout).not.toContain('hunter2')
    expect(code).toBe(1)
  })

  it('fails with wrong settings, and says all that is wrong with them', async () => {
    const { code, report, check } = await doctor(['--host', 'a b'], { CARILLON_PROT: '1' })
    expect(check('settings')?.says).toMatch(/--host is "a b"/)
    expect(check('settings')?.says).toMatch(/did you mean CARILLON_PORT/)
    expect(report.ok).toBe(false)
    expect(code).toBe(1)
  })

  it('tells a person what each check means and what to do', async () => {
    const { code, stdout } = await carillon(['doctor', '--port', '0'], { env: { CARILLON_PROT: '1' } })
    expect(stdout).toMatch(/^✓ ok {4}node {6}Node \d+/m)
    expect(stdout).toMatch(/^✗ fail {2}settings {2}The configuration has a problem:$/m)
    expect(stdout).toMatch(/^ +→ Correct them/m)
    expect(stdout).toContain('1 failed')
    expect(code).toBe(1)
  })

  it('fails when a stranger has the port', async () => {
    const stranger = createServer((_request, response) => response.end('hello'))
    await new Promise<void>((resolve) => stranger.listen(0, '127.0.0.1', resolve))
    try {
      const { port } = stranger.address() as AddressInfo
      const { code, check } = await doctor(['--data-dir', 'nothing', '--port', String(port)])
      expect(check('port')).toMatchObject({
        status: 'fail',
        todo: expect.stringContaining('--port') as string,
      })
      expect(code).toBe(1)
    } finally {
      stranger.close()
    }
  })

  it('loads the task file, whatever it prints and keeps open', async () => {
    const tasks = join(folder, 'tasks.mjs')
    const open = "console.log('hello'); process.stdout.write('there'); setInterval(() => {}, 1000)"
    writeFileSync(tasks, `${open}\nexport default { report: () => 1, tidy: () => 2 }\n`)
    const { code, check, stderr } = await doctor(['--data-dir', 'nothing', '--tasks', tasks])
    expect(check('tasks')).toMatchObject({
      status: 'ok',
      says: expect.stringContaining('report, tidy') as string,
    })
    expect(stderr).toContain('hello')
    expect(code).toBe(0)
  })

  it('fails with a task file that cannot be loaded', async () => {
    const tasks = join(folder, 'broken.mjs')
    writeFileSync(tasks, 'export default { report: () => }\n')
    const { code, check } = await doctor(['--data-dir', 'nothing', '--tasks', tasks])
    expect(check('tasks')).toMatchObject({
      status: 'fail',
      says: expect.stringContaining('broken.mjs') as string,
    })
    expect(code).toBe(1)
  })
})

describe('up', () => {
  it('keeps stdout to its one line, whatever a task file prints', async () => {
    const tasks = join(folder, 'loud.mjs')
    writeFileSync(tasks, "console.log('hello')\nexport default { loud: () => console.log('again') }\n")
    const server = await startServer(['--tasks', tasks])
    const ended = await server.stop()
    expect(jsonOf(ended)).toMatchObject({ ready: true, url: server.url, tasks: ['loud'] })
    expect(ended.stderr).toContain('hello')
    expect(ended.code).toBe(0)
  })

  it('takes a signal that npx repeats at once for one wish, and leaves in order', async () => {
    const server = await startServer()
    const pidFile = join(server.dataDir, 'postgres/data/postmaster.pid')
    expect(existsSync(pidFile)).toBe(true)
    // Two different ones: of the same one, the second could be lost before the first is seen.
    expect((await server.stop('SIGINT', 'SIGTERM')).code).toBe(0)
    expect(existsSync(pidFile)).toBe(false)
  })

  it('says what is wrong with its settings and with its task file', async () => {
    const wrong = await carillon(['up', '--role', 'nothing'])
    expect(wrong.stderr).toContain('--role is "nothing"')
    expect(wrong).toMatchObject({ code: 2, stdout: '' })
    const missing = await carillon(['up', '--json', '--tasks', 'not-there.mjs'], { cwd: folder })
    expect(missing.stderr).toContain('not-there.mjs does not exist')
    expect(missing).toMatchObject({ code: 1, stdout: '' })
  })
})
