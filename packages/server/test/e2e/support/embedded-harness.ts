import { chmodSync, cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import type { EmbeddedApp, Joined, MemberOptions } from './embedded-app.js'
import { clearAway, makeApp, Member } from './embedded-app.js'

/** The user `nobody` of most systems: any account that is neither root nor `postgres` serves. */
export const ORDINARY_USER = { uid: 65534, gid: 65534 }

/** What a test file about the embedded Postgres works with. Whatever a test starts or makes is gone after it. */
export interface Harness {
  /** A folder that others may enter. */
  readonly newFolder: () => string
  /** A folder that only its owner may enter, as mktemp makes it. */
  readonly newClosedFolder: () => string
  readonly newDataDir: (parent?: string) => string
  readonly member: (dataDir: string, options?: MemberOptions & { app?: EmbeddedApp }) => Member
  /** A data dir, nothing running on it, that holds something to lose. */
  readonly dataDirWithARow: () => Promise<string>
}

export function useEmbedded(): Harness {
  const members: Member[] = []
  const dataDirs: string[] = []
  const folders: string[] = []
  let work = ''
  let app: EmbeddedApp

  const newClosedFolder = (): string => {
    const folder = mkdtempSync(join(tmpdir(), 'carillon-embedded-'))
    folders.push(folder)
    return folder
  }
  const newFolder = (): string => {
    const folder = newClosedFolder()
    chmodSync(folder, 0o755)
    return folder
  }
  const newDataDir = (parent = newFolder()): string => {
    const dataDir = join(parent, `data-${dataDirs.length}`)
    dataDirs.push(dataDir)
    return dataDir
  }
  const member: Harness['member'] = (dataDir, options = {}) => {
    const made = new Member(options.app ?? app, dataDir, options)
    members.push(made)
    return made
  }
  // Made once and copied: initdb takes longer than most tests. A copy by root belongs to root, as a restored backup may.
  const dataDirWithARow = async (): Promise<string> => {
    const original = join(work, 'original')
    if (!existsSync(original)) {
      const first = member(original)
      await writeRow((await first.joined()).url)
      await first.leave()
    }
    const dataDir = newDataDir()
    cpSync(original, dataDir, { recursive: true })
    return dataDir
  }

  beforeAll(() => {
    work = mkdtempSync(join(tmpdir(), 'carillon-embedded-app-'))
    chmodSync(work, 0o755)
    app = makeApp(work)
  })
  afterEach(async () => {
    await Promise.all(members.splice(0).map((one) => one.kill()))
    for (const dataDir of dataDirs.splice(0)) await clearAway(dataDir)
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
  })
  afterAll(() => rmSync(work, { recursive: true, force: true }))
  return { newFolder, newClosedFolder, newDataDir, member, dataDirWithARow }
}

export async function query<Row extends pg.QueryResultRow>(url: string, text: string): Promise<Row[]> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return (await client.query<Row>(text)).rows
  } finally {
    await client.end()
  }
}

export async function answers(url: string): Promise<boolean> {
  return query(url, 'select 1').then(
    () => true,
    () => false,
  )
}

export async function writeRow(url: string): Promise<void> {
  await query(url, 'create table kept (word text)')
  await query(url, "insert into kept values ('still here')")
}

export async function expectRowKept(joined: Pick<Joined, 'url'>): Promise<void> {
  expect(await query(joined.url, 'select word from kept')).toEqual([{ word: 'still here' }])
}
