import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { childrenOf, isRunning, postmasterOf, until } from './support/embedded-app.js'
import { answers, expectRowKept, query, useEmbedded } from './support/embedded-harness.js'

const onLinux = process.platform === 'linux'
const { newDataDir, member, dataDirWithARow } = useEmbedded()

describe('after a crash', () => {
  it('the next process adopts the Postgres of one that was killed', async () => {
    const dataDir = await dataDirWithARow()
    const victim = member(dataDir)
    const before = await victim.joined()
    const postmaster = postmasterOf(dataDir)
    await victim.kill()
    const next = member(dataDir)
    expect(await next.joined()).toMatchObject({ how: 'joined', url: before.url })
    expect(postmasterOf(dataDir)).toBe(postmaster)
    await until(async () => (await memberCount(before.url)) === 1)
    expect(await next.leave()).toMatchObject({ stopped: true })
  })

  it.runIf(onLinux)(
    'a killed postmaster whose children live on is replaced, and committed rows are there',
    async () => {
      const dataDir = await dataDirWithARow()
      const survivor = member(dataDir)
      const { url } = await survivor.joined()
      await query(url, 'truncate kept')
      const busy = new pg.Client(url)
      busy.on('error', () => undefined)
      await busy.connect()
      await busy.query("insert into kept values ('still here')")
      await busy.query('begin')
      await busy.query("insert into kept values ('never committed')")
      const postmaster = postmasterOf(dataDir) ?? 0
      const children = childrenOf(postmaster)
      // A stopped child cannot notice that its postmaster is gone: it holds on to the shared memory until it goes on.
      const holder = children[0] ?? 0
      process.kill(holder, 'SIGSTOP')
      process.kill(postmaster, 'SIGKILL')
      const next = member(dataDir)
      const joining = next.joined()
      await until(() => !isRunning(postmaster))
      expect(isRunning(holder)).toBe(true)
      process.kill(holder, 'SIGCONT')
      const joined = await joining
      expect(joined.how).toBe('started')
      await expectRowKept(joined)
      // The survivor comes back by itself, so Postgres stays for it.
      expect(await next.leave()).toMatchObject({ stopped: false })
      expect(await survivor.leave()).toMatchObject({ stopped: true })
    },
  )

  it.runIf(onLinux)('says which processes hold the folder when they do not go in time', async () => {
    const dataDir = await dataDirWithARow()
    await member(dataDir).joined()
    const postmaster = postmasterOf(dataDir) ?? 0
    const holder = childrenOf(postmaster)[0] ?? 0
    process.kill(holder, 'SIGSTOP')
    try {
      process.kill(postmaster, 'SIGKILL')
      await expect(member(dataDir, { startTimeoutMs: 1_500 }).joined()).rejects.toThrow(String(holder))
    } finally {
      process.kill(holder, 'SIGKILL')
    }
  })

  it('a half-done initdb is done again', async () => {
    const dataDir = newDataDir()
    const victim = member(dataDir)
    const home = join(dataDir, 'postgres')
    await until(() => existsSync(home) && unfinishedFolders(home).length > 0)
    await victim.kill()
    expect(existsSync(join(home, 'data'))).toBe(false)
    const joined = await member(dataDir).joined()
    expect(joined.how).toBe('created')
    expect(await answers(joined.url)).toBe(true)
    expect(unfinishedFolders(home)).toEqual([])
  })

  it('a lock file left by a dead process is cleared, and by only one of those who wait', async () => {
    const dataDir = await dataDirWithARow()
    const lock = join(dataDir, 'postgres/start.lock')
    const victim = member(dataDir)
    await until(() => existsSync(lock))
    await victim.kill()
    const three = [member(dataDir), member(dataDir), member(dataDir)]
    const joined = await Promise.all(three.map((one) => one.joined()))
    expect(new Set(joined.map((one) => one.url)).size).toBe(1)
    expect(existsSync(lock)).toBe(false)
  })

  it.runIf(onLinux)('a pid file that names a stranger is not taken for a running Postgres', async () => {
    const dataDir = await dataDirWithARow()
    const pidFile = join(dataDir, 'postgres/data/postmaster.pid')
    writeFileSync(pidFile, `${process.pid}\n${dataDir}/postgres/data\n1\n1\n\n127.0.0.1\n\nready   \n`)
    const joined = await member(dataDir).joined()
    expect(joined.how).toBe('started')
    await expectRowKept(joined)
  })
})

async function memberCount(url: string): Promise<number> {
  const rows = await query<{ n: number }>(
    url,
    "select count(*)::int as n from pg_stat_activity where application_name = 'carillon-member'",
  )
  return rows[0]?.n ?? 0
}

function unfinishedFolders(home: string): string[] {
  return readdirSync(home).filter((name) => name.startsWith('data.new-') && !name.endsWith('.password'))
}
