import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openLayout } from './layout.js'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'carillon-layout-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe('openLayout', () => {
  it('makes the data folder and those above it, and finds it again', async () => {
    const wanted = join(folder, 'a', 'b')
    const { home } = await openLayout(wanted)
    expect((await stat(home)).mode & 0o777).toBe(0o700)
    expect((await openLayout(wanted)).home).toBe(home)
  })

  it('says at once where no folder can be made', async () => {
    await writeFile(join(folder, 'file'), '')
    for (const place of ['/proc/carillon-nowhere', '/proc/carillon/nowhere', join(folder, 'file')])
      await expect(openLayout(place)).rejects.toThrow(`Cannot make the data folder ${place}`)
  })
})
