import { spawnSync } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { EmbeddedApp } from './support/embedded-app.js'
import { makeApp, postmasterOf } from './support/embedded-app.js'
import { expectRowKept, ORDINARY_USER, useEmbedded, writeRow } from './support/embedded-harness.js'

const asRoot = process.getuid?.() === 0
if (!asRoot) console.warn('NOT ROOT: the tests of closed folders and of other accounts are SKIPPED')
// A checkout below a closed folder is a fine place for root, but nobody else can run anything from it.
const othersEnter =
  asRoot && mayRead(ORDINARY_USER, fileURLToPath(new URL('../../package.json', import.meta.url)))
if (asRoot && !othersEnter)
  console.warn('CLOSED CHECKOUT: the tests that run as an ordinary user are SKIPPED')
const { newFolder, newClosedFolder, newDataDir, member, dataDirWithARow } = useEmbedded()

describe('where the binaries lie', () => {
  it('makes the symlinks that a skipped install script did not, even with three starters at once', async () => {
    const own = makeApp(join(newFolder(), 'own'), { ownBinaries: true })
    const links = symlinksOf(own)
    for (const link of links) rmSync(link)
    const dataDirs = [newDataDir(), newDataDir(), newDataDir()]
    const joined = await Promise.all(dataDirs.map((dataDir) => member(dataDir, { app: own }).joined()))
    expect(joined.map((one) => one.how)).toEqual(['created', 'created', 'created'])
    expect(links.filter((link) => !existsSync(link))).toEqual([])
  })

  it.runIf(othersEnter)(
    'uses a copy beside the data when the package can be neither completed nor written',
    async () => {
      const own = makeApp(join(newFolder(), 'own'), { ownBinaries: true })
      for (const link of symlinksOf(own)) rmSync(link)
      const dataDir = newDataDir()
      mkdirSync(dataDir)
      chownSync(dataDir, ORDINARY_USER.uid, ORDINARY_USER.gid)
      const joined = await member(dataDir, { app: own, as: ORDINARY_USER }).joined()
      expect(joined.how).toBe('created')
      expect(joined.logged.map((line) => line.message).join()).toContain('copied beside the data')
      expect(statSync(join(dataDir, 'postgres/data')).uid).toBe(ORDINARY_USER.uid)
    },
  )
})

describe.runIf(asRoot)('as root', () => {
  it.runIf(othersEnter)(
    'runs Postgres as another user, and as the owner of a folder that another user made',
    async () => {
      const dataDir = newDataDir()
      mkdirSync(dataDir)
      chownSync(dataDir, ORDINARY_USER.uid, ORDINARY_USER.gid)
      const ordinary = member(dataDir, { as: ORDINARY_USER })
      expect((await ordinary.joined()).how).toBe('created')
      const guest = member(dataDir)
      expect((await guest.joined()).how).toBe('joined')
      await Promise.all([ordinary.leave(), guest.leave()])
      const root = member(dataDir)
      expect((await root.joined()).how).toBe('started')
      expect(statSync(`/proc/${postmasterOf(dataDir)}`).uid).toBe(ORDINARY_USER.uid)
      await root.leave()
      const again = member(dataDir, { as: ORDINARY_USER })
      expect((await again.joined()).how).toBe('started')
    },
  )

  it.runIf(othersEnter)('tells an ordinary user whose folder it is', async () => {
    const dataDir = await dataDirWithARow()
    await expect(member(dataDir, { as: ORDINARY_USER }).joined()).rejects.toThrow(
      /belongs to the user with id/,
    )
  })

  it.each([
    ['with all capabilities', []],
    [
      'with the capabilities of a default container',
      ['setpriv', `--bounding-set=-all,${containerCapabilities()}`],
    ],
  ])('works with binaries and data below a folder that only root may enter, %s', async (_name, through) => {
    const closed = newClosedFolder()
    expect(statSync(closed).mode & 0o777).toBe(0o700)
    const app = makeApp(join(closed, 'app'), { ownBinaries: true })
    const dataDir = newDataDir(closed)
    const first = member(dataDir, { app, through })
    const created = await first.joined()
    expect(created.how).toBe('created')
    expect(statSync(`/proc/${postmasterOf(dataDir)}`).uid).not.toBe(0)
    await writeRow(created.url)
    await first.leave()
    const second = member(dataDir, { app, through })
    expect((await second.joined()).how).toBe('started')
    process.kill(postmasterOf(dataDir) ?? 0, 'SIGKILL')
    await second.kill()
    const third = member(dataDir, { app, through })
    const recovered = await third.joined()
    expect(recovered.how).toBe('started')
    await expectRowKept(recovered)
    expect(await third.leave()).toMatchObject({ stopped: true })
    expect(readdirSync(join(dataDir, 'postgres')).filter((name) => name.startsWith('binaries-'))).toEqual([])
  })

  it('copies binaries out of a closed folder, and refuses data in one, where setpriv is not allowed', async () => {
    // Without the capability to change capabilities there is nothing setpriv could do.
    const through = ['setpriv', '--bounding-set=-setpcap', '--inh-caps=-setpcap']
    const closed = newClosedFolder()
    const app = makeApp(join(closed, 'app'), { ownBinaries: true })
    const joined = await member(newDataDir(), { app, through }).joined()
    expect(joined.how).toBe('created')
    expect(joined.logged.map((line) => line.message).join()).toContain('copied beside the data')
    await expect(member(newDataDir(closed), { app, through }).joined()).rejects.toThrow(
      /cannot enter .*setpriv.*--data-dir/s,
    )
    expect(statSync(closed).mode & 0o777).toBe(0o700)
  })
})

/** Docker's default set, without the one that reads past permissions. */
function containerCapabilities(): string {
  const names =
    'chown dac_override fsetid fowner mknod net_raw setgid setuid setfcap setpcap net_bind_service kill'
  return names
    .split(' ')
    .map((name) => `+${name}`)
    .join(',')
}

function symlinksOf(own: EmbeddedApp): string[] {
  const list = JSON.parse(readFileSync(join(own.native, 'pg-symlinks.json'), 'utf8')) as { target: string }[]
  return list.map(({ target }) => join(own.native, '..', target))
}

function mayRead(user: { uid: number; gid: number }, file: string): boolean {
  const script = `require('node:fs').readFileSync(${JSON.stringify(file)})`
  return spawnSync(process.execPath, ['-e', script], { ...user, cwd: '/' }).status === 0
}
