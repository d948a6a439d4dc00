import { mkdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Carillon, temporaryFolder, until } from '../support/carillon.js'
import { axe, describeInBrowser, expectNoComplaints, visit } from './browser.js'
import { makeWorld, ripen, type World } from './world.js'

const built = fileURLToPath(new URL('../../../../dashboard/dist/', import.meta.url))
/** DASHBOARD_PICTURES=1 writes the pictures of docs/operate/dashboard.md anew, and all others below the temporary folder. */
const takesPictures = process.env['DASHBOARD_PICTURES'] === '1'
const docs = fileURLToPath(new URL('../../../../../docs/operate/dashboard/', import.meta.url))
const others = join(tmpdir(), 'carillon-dashboard')
const inDocs = new Set(['overview-dark', 'job-dark', 'dead-letters-dark', 'load-light', 'run-light'])
const pictureSize = { width: 1200, height: 700 }
const mostPictureBytes = 150 * 1024
const firstViewBytes = 250 * 1024

describeInBrowser('the views', (browser) => {
  const folder = temporaryFolder()
  let carillon: Carillon
  let world: World

  beforeAll(async () => {
    carillon = await Carillon.up({ dataDir: folder.path, env: { CARILLON_MIN_INTERVAL_SECONDS: '1' } })
    world = await makeWorld(carillon.client)
    await ripen(carillon.client, world, takesPictures ? 75 : 12)
  })
  afterAll(async () => {
    await carillon?.terminate()
    await world?.close()
    folder.remove()
  })

  /** Each view with what must be seen before it counts as shown. */
  const views: [name: string, path: (ids: Ids) => string, shown: string][] = [
    ['overview', () => '/', '.concern >> text=breaker open'],
    ['jobs', () => '/jobs', 'text=metrics:flush'],
    ['job', ({ slow }) => `/jobs/${slow}?at=SKIPPED`, '.why-summary'],
    ['job-ticks', ({ nightly }) => `/jobs/${nightly}?tab=ticks`, '.grid tbody tr:nth-child(20)'],
    ['job-versions', ({ nightly }) => `/jobs/${nightly}?tab=versions&version=2`, '.diff .added'],
    ['job-backfills', ({ ok }) => `/jobs/${ok}?tab=backfills`, 'text=No backfill was asked for.'],
    ['job-definition', ({ paused }) => `/jobs/${paused}?tab=definition`, 'text=Provider migration'],
    ['job-edit', ({ nightly }) => `/jobs/${nightly}/edit`, '.preview-ticks li:nth-child(10)'],
    ['job-new', () => '/jobs/new', '.preview-ticks li:nth-child(10)'],
    ['runs', () => '/runs', '.grid tbody tr:nth-child(20)'],
    ['run', ({ dead }) => `/runs/${dead}`, '.waterfall .bar.failed'],
    ['dead-letters', ({ fingerprint }) => `/dead-letters?fingerprint=${fingerprint}`, '.grid tbody tr'],
    ['load', () => '/load?tag=scheduled', '.suggestions .bar'],
    ['operations', () => '/operations', 'h1'],
    ['cluster', () => '/cluster', '.partition'],
    ['targets', ({ host }) => `/targets?host=${host}`, '.facts'],
    ['alerts', () => '/alerts', '.grid tbody tr'],
    ['audit', () => '/audit', '.grid tbody tr'],
    ['keys', () => '/keys', 'h1'],
    ['nothing', () => '/jobs/job_00000000000000000000000000', 'text=There is no such job.'],
  ]

  type Ids = Record<
    'ok' | 'slow' | 'nightly' | 'paused' | 'dead' | 'fingerprint' | 'host' | 'skipped',
    string
  >

  async function ids(): Promise<Ids> {
    const { client } = carillon
    const [letter] = (await client.deadLetters.list({ job_id: world.jobs.dying.job_id })).data
    const runs = await client.jobs.runs(world.jobs.slow.job_id, { limit: 60, status: 'skipped' })
    return {
      ok: world.jobs.ok.job_id,
      slow: world.jobs.slow.job_id,
      nightly: world.jobs.nightly.job_id,
      paused: world.jobs.paused.job_id,
      dead: letter?.run_id ?? '',
      fingerprint: letter?.fingerprint ?? '',
      host: encodeURIComponent(world.hosts.down.host),
      skipped: encodeURIComponent(runs[0]?.scheduled_at ?? ''),
    }
  }

  async function show(page: Page, [, path, shown]: (typeof views)[number], known: Ids): Promise<void> {
    await page.goto(carillon.url + path(known).replace('SKIPPED', known.skipped))
    await page.locator(shown).first().waitFor()
    await page.locator('.bone').first().waitFor({ state: 'detached' })
  }

  test.each(['dark', 'light'] as const)('have no fault that axe finds, in %s', async (theme) => {
    const tab = await visit(browser(), carillon.url, { theme, ...(takesPictures && { size: pictureSize }) })
    const known = await ids()
    const found: string[] = []
    for (const view of views) {
      await show(tab.page, view, known)
      for (const fault of await axe(tab.page)) found.push(`${view[0]}: ${fault}`)
      if (takesPictures) await picture(tab.page, `${view[0]}-${theme}`)
    }
    expect(found).toEqual([])
    expectNoComplaints(tab)
    await tab.context.close()
  })

  test('say a state by icon, word and hue', async () => {
    const tab = await visit(browser(), `${carillon.url}/jobs?order=name&q=mail`)
    const mark = tab.page.locator('.status.warn', { hasText: 'paused' }).first()
    await mark.waitFor()
    expect(await mark.locator('svg').count()).toBe(1)
    await tab.context.close()
  })

  test('ask for less than 250 KB gzipped before the first view with its charts is drawn', async () => {
    const tab = await visit(browser(), carillon.url)
    await tab.page.locator('.chart canvas').nth(2).waitFor()
    const files = [...new Set(tab.requests.map((url) => new URL(url).pathname))].filter(
      (path) => !/^\/(api|readyz)/.test(path),
    )
    expect(files.some((path) => path.includes('uplot'))).toBe(true)
    const size = (path: string) =>
      gzipSync(readFileSync(join(built, path === '/' ? 'index.html' : path))).length
    const total = files.reduce((sum, path) => sum + size(path), 0)
    console.log(`first view: ${(total / 1024).toFixed(1)} KB gzipped in ${files.length} files`)
    expect(total).toBeLessThan(firstViewBytes)
    await tab.context.close()
  })

  test('ask for nothing while nobody looks at the tab', async () => {
    const tab = await visit(browser(), carillon.url)
    await tab.page.locator('.chart canvas').first().waitFor()
    await tab.page.evaluate(`
      Object.defineProperty(document, 'hidden', { configurable: true, get: () => globalThis.away })
      globalThis.away = true
      document.dispatchEvent(new Event('visibilitychange'))
    `)
    // What was under way when the tab was hidden may still end.
    await until('the last question was asked', async () => {
      const before = tab.requests.length
      await tab.page.waitForTimeout(1_000)
      return tab.requests.length === before
    })
    const before = tab.requests.length
    await tab.page.waitForTimeout(6_000)
    expect(tab.requests.slice(before)).toEqual([])
    await tab.page.evaluate(`globalThis.away = false; document.dispatchEvent(new Event('visibilitychange'))`)
    // The stream is opened again, and what was counted meanwhile is asked for once.
    const asked = (what: string) => tab.requests.slice(before).filter((url) => url.includes(what)).length
    await until('it asks again', () => asked('/stats/stream') === 1 && asked('/stats/history') === 1)
    await tab.page.waitForTimeout(3_000)
    expect([asked('/stats/stream'), asked('/stats/history')]).toEqual([1, 1])
    await tab.context.close()
  })

  test('are told by the server when things change: a stream, not a question every time', async () => {
    const tab = await visit(browser(), carillon.url)
    await tab.page.locator('.tile').first().waitFor()
    expect(tab.requests.filter((url) => url.endsWith('/api/v1/stats'))).toEqual([])
    expect(tab.requests.filter((url) => url.endsWith('/api/v1/stats/stream'))).toHaveLength(1)
    // What was before the stream began is asked for once; the charts go on by what it tells.
    const label = () => tab.page.locator('figure.chart').first().getAttribute('aria-label')
    await tab.page.locator('.chart canvas').first().waitFor()
    const told = new Set<string | null>()
    await until('the chart goes on', async () => told.add(await label()).size > 2, 120_000)
    expect(tab.requests.filter((url) => url.includes('/stats/history'))).toHaveLength(1)
    await tab.context.close()
  })

  test('have no inline script or style, and each is there after a reload of its address', async () => {
    const page = readFileSync(join(built, 'index.html'), 'utf8')
    expect(page).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=/i)
    const known = await ids()
    for (const [, path] of views) {
      const answer = await fetch(carillon.url + path(known), { headers: { accept: 'text/html' } })
      expect(answer.status).toBe(200)
      expect(await answer.text()).toBe(page)
    }
  })

  async function picture(page: Page, name: string): Promise<void> {
    const folder = inDocs.has(name) ? docs : others
    mkdirSync(folder, { recursive: true })
    await page.waitForTimeout(700)
    const taken = await page.screenshot({
      path: join(folder, `${name}.png`),
      animations: 'disabled',
      caret: 'hide',
    })
    if (inDocs.has(name)) expect(taken.length, name).toBeLessThan(mostPictureBytes)
  }
})
