import type { Job } from '@carillon/sdk'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Carillon, temporaryFolder, until } from '../support/carillon.js'
import { describeInBrowser, expectNoComplaints, visit } from './browser.js'
import { Receiver } from './receiver.js'

/** What people do by hand, each in a real browser, looked at through the API. */
describeInBrowser('by hand', (browser) => {
  const folder = temporaryFolder()
  let carillon: Carillon
  let host: Receiver

  beforeAll(async () => {
    host = await Receiver.listen()
    carillon = await Carillon.up({ dataDir: folder.path, env: { CARILLON_MIN_INTERVAL_SECONDS: '1' } })
    await carillon.client.targets.limit(host.host, { breaker_enabled: false })
  })
  afterAll(async () => {
    await carillon?.terminate()
    await host?.close()
    folder.remove()
  })

  const daily = (name: string): Promise<Job> =>
    carillon.client.jobs.create({
      ...{ name, schedule: '0 9 * * *', timezone: 'Europe/Madrid' },
      target: { type: 'http', url: host.url('/') },
    })

  async function at(path: string, work: (page: Page) => Promise<void>): Promise<void> {
    const tab = await visit(browser(), carillon.url + path)
    await work(tab.page)
    expectNoComplaints(tab)
    await tab.context.close()
  }

  test('one tick is left out, another starts later, and both are taken back', async () => {
    const { job_id: id } = await daily('one tick')
    const ticks = () => carillon.client.jobs.ticks(id, { count: 3 })
    await at(`/jobs/${id}?tab=ticks`, async (page) => {
      const rows = page.locator('.grid tbody tr')
      await rows.nth(0).getByRole('button', { name: 'Skip' }).click()
      await page.getByRole('dialog').getByLabel('Reason').fill('the bank is closed')
      await page.getByRole('dialog').getByRole('button', { name: 'Leave it out' }).click()
      await rows.nth(0).getByText('the bank is closed').waitFor()
      await rows.nth(1).getByRole('button', { name: 'Move' }).click()
      const starts = page.getByRole('dialog').getByLabel('Starts at')
      const wanted = (await starts.inputValue()).replace('T09:', 'T11:')
      await starts.fill(wanted)
      await page.getByRole('dialog').getByRole('button', { name: 'Move it' }).click()
      await rows.nth(1).getByText('moved', { exact: true }).waitFor()
      const [skipped, moved, next] = await ticks()
      expect([skipped?.state, moved?.state, next?.state]).toEqual(['skipped', 'moved', 'planned'])
      expect(Date.parse(moved?.start_at ?? '') - Date.parse(moved?.due ?? '')).toBe(2 * 3_600_000)
      for (const index of [0, 1]) {
        await rows.nth(index).getByRole('button', { name: 'Take back' }).click()
        await rows.nth(index).getByText('planned').waitFor()
      }
    })
    expect((await ticks()).map(({ state }) => state)).toEqual(['planned', 'planned', 'planned'])
  })

  test('a version is rolled back to, after its difference was seen', async () => {
    const { job_id: id } = await daily('rolled back')
    await carillon.client.jobs.edit(id, { timeout_seconds: 900, schedule: '0 10 * * *' })
    await at(`/jobs/${id}?tab=versions&version=1`, async (page) => {
      await page.getByRole('button', { name: 'Roll back to v1' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.locator('.diff .removed', { hasText: '0 10 * * *' }).waitFor()
      await dialog.locator('.diff .added', { hasText: '0 9 * * *' }).waitFor()
      await dialog.getByLabel('Reason').fill('ten was too late')
      await dialog.getByRole('button', { name: 'Roll back' }).click()
      await page.locator('.version-list').getByText('ten was too late').waitFor()
    })
    expect(await carillon.client.jobs.get(id)).toMatchObject({
      version: 3,
      schedule: '0 9 * * *',
      timeout_seconds: 300,
    })
  })

  test('ticks that did not succeed are run again by a backfill, after they were counted', async () => {
    host.answer = (path) => ({ status: path === '/filled' ? 500 : 200, body: 'not yet' })
    const { job_id: id } = await carillon.client.jobs.create({
      ...{ name: 'filled', schedule: '@every 1s', max_retries: 0 },
      target: { type: 'http', url: host.url('/filled') },
    })
    await until(
      'some died',
      async () => (await carillon.client.jobs.runs(id, { status: 'dead' })).length >= 3,
    )
    host.answer = () => ({ status: 200 })
    await until('it runs again', async () =>
      (await carillon.client.jobs.runs(id)).some(({ status }) => status === 'success'),
    )
    await at(`/jobs/${id}`, async (page) => {
      await page.getByRole('button', { name: 'Backfill' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Runs a minute').fill('600')
      await dialog.getByText(/ticks would run, about .*left\s+out as done/).waitFor()
      await dialog.getByRole('button', { name: /^Run [1-9]\d* ticks?$/ }).click()
      await page.locator('.grid').getByText('done').waitFor()
    })
    const [backfill] = (await carillon.client.jobs.backfills(id)).data
    expect(backfill?.total).toBeGreaterThanOrEqual(3)
    expect(backfill).toMatchObject({ state: 'done', failed: 0 })
    await carillon.client.jobs.delete(id)
  })

  test('the fleet is braked for a while, and let go', async () => {
    await at('/cluster', async (page) => {
      await page.getByRole('button', { name: 'Brake' }).click()
      const dialog = page.getByRole('dialog')
      expect(await dialog.getByRole('button', { name: 'Brake' }).isDisabled()).toBe(true)
      await dialog.getByLabel('Reason').fill('the database is being moved')
      await dialog.getByLabel('Minutes').fill('5')
      await dialog.getByRole('button', { name: 'Brake' }).click()
      await page.getByText('the database is being moved').waitFor()
      expect((await carillon.client.cluster()).brake).toMatchObject({ reason: 'the database is being moved' })
      await page.getByRole('button', { name: 'Take the brake off' }).click()
      await page.getByText('the database is being moved').waitFor({ state: 'detached' })
    })
    expect((await carillon.client.cluster()).brake).toBe(null)
  })

  test('a host gets limits, and a wrong one is refused', async () => {
    await daily('limited')
    await at(`/targets?host=${encodeURIComponent(host.host)}`, async (page) => {
      await page.getByRole('button', { name: 'Limits' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Starts a second').fill('-5')
      await dialog.getByRole('button', { name: 'Set' }).click()
      await dialog.getByRole('alert').waitFor()
      await dialog.getByLabel('Starts a second').fill('25')
      await dialog.getByLabel('Runs at once').fill('3')
      await dialog.getByRole('button', { name: 'Set' }).click()
      await page.getByRole('cell', { name: /25\/s, 3 at once/ }).waitFor()
    })
    const { limits } = await carillon.client.targets.get(host.host)
    // What the dialog does not show stays as it was.
    expect(limits).toMatchObject({ rate_per_second: 25, max_concurrent: 3, breaker_enabled: false })
    await carillon.client.targets.limit(host.host, { rate_per_second: null, max_concurrent: null })
  })

  test('a dead letter is re-driven with another payload, and never with that of the letter before', async () => {
    host.answer = () => ({ status: 422, body: 'no such customer' })
    const make = (name: string, customer: number) =>
      carillon.client.jobs.create({
        ...{ name, schedule: '0 3 * * *', max_retries: 0, payload: { customer } },
        target: { type: 'http', url: host.url('/letters') },
      })
    const jobs = [await make('letter one', 1), await make('letter two', 2)]
    for (const { job_id: id } of jobs) await carillon.client.jobs.trigger(id)
    const letters = async () => (await carillon.client.deadLetters.list({ limit: 10 })).data
    const dead = await until('both died', async () => {
      const found = (await letters()).filter(({ job }) => job.startsWith('letter'))
      return found.length === 2 && found
    })
    host.answer = () => ({ status: 200 })
    await at(`/dead-letters?fingerprint=${dead[0]?.fingerprint ?? ''}`, async (page) => {
      const row = (name: string) => page.getByRole('row', { name: new RegExp(name) })
      const dialog = page.getByRole('dialog')
      const payload = dialog.getByLabel('Payload for this run alone, JSON')
      await row('letter one').getByRole('button', { name: 'Edit' }).click()
      await payload.fill('{"customer": ')
      await dialog.getByText('No JSON:').waitFor()
      expect(await dialog.getByRole('button', { name: 'Re-drive' }).isDisabled()).toBe(true)
      await payload.fill('{"customer": 77}')
      await page.goBack()
      await dialog.waitFor({ state: 'detached' })
      await row('letter two').getByRole('button', { name: 'Edit' }).click()
      await until('its own payload is shown', async () => /2/.test(await payload.inputValue()))
      expect(await payload.inputValue()).not.toContain('77')
      await dialog.getByRole('button', { name: 'Close' }).click()
      await row('letter one').getByRole('button', { name: 'Edit' }).click()
      await payload.fill('{"customer": 11}')
      await dialog.getByRole('button', { name: 'Re-drive' }).click()
      await row('letter one').waitFor({ state: 'detached' })
    })
    await until('it was sent', () => host.bodies.some((body) => body.includes('11')))
    const [left] = (await letters()).filter(({ job }) => job.startsWith('letter'))
    expect(left?.job).toBe('letter two')
  })

  test('a form is checked by the server while it is filled in, and nothing is stored by that', async () => {
    const { job_id: id } = await daily('there already')
    const before = (await carillon.client.jobs.list({ limit: 100 })).data.length
    await at('/jobs/new', async (page) => {
      const wrong = (label: string) => page.locator('.field.wrong', { hasText: label })
      await page.getByLabel('Name').fill('there already')
      await page.getByLabel('URL').fill(host.url('/'))
      await wrong('Name').getByText('is taken by a live job').waitFor()
      await page.getByLabel('Name').fill('not yet there')
      await wrong('Name').waitFor({ state: 'detached' })
      await page.getByLabel('Time zone', { exact: true }).fill('Mars/Olympus')
      await wrong('Time zone').waitFor()
      await page.getByLabel('Time zone', { exact: true }).fill('UTC')
      await wrong('Time zone').waitFor({ state: 'detached' })
      await page.getByLabel('Priority').fill('40')
      await wrong('Priority').waitFor()
      await page.getByLabel('Headers').fill('webhook-id: mine')
      await page.getByLabel('Priority').fill('4')
      await wrong('Headers').waitFor()
      await page.getByLabel('Headers').fill('X-Mine: yes')
      await wrong('Headers').waitFor({ state: 'detached' })
      await page.getByRole('button', { name: 'task' }).click()
      await page.getByLabel('Task').fill('nobody-has-it')
      await page.getByText('No live worker serves the task "nobody-has-it"').waitFor()
    })
    expect((await carillon.client.jobs.list({ limit: 100 })).data).toHaveLength(before)
    expect((await carillon.client.jobs.get(id)).version).toBe(1)
  })

  test('an edit never takes back what somebody else changed meanwhile', async () => {
    const { job_id: id } = await daily('edited by two')
    await at(`/jobs/${id}/edit`, async (page) => {
      await page.getByLabel('Description').fill('mine')
      await carillon.client.jobs.edit(id, { timeout_seconds: 77 })
      // Away and back: the job is looked at again.
      for (const hidden of [true, false])
        await page.evaluate(`
          Object.defineProperty(document, 'hidden', { configurable: true, get: () => ${hidden} })
          document.dispatchEvent(new Event('visibilitychange'))
        `)
      await page.getByText(/is at version 2, not 1/).waitFor()
      await page.getByRole('button', { name: 'Save description' }).click()
      await page.getByText(/is at version 2, not 1/).waitFor()
    })
    expect(await carillon.client.jobs.get(id)).toMatchObject({ timeout_seconds: 77, description: null })
  })

  test('a suggestion of jitter is applied to the jobs that it is about, after they were counted', async () => {
    const crowd = Array.from({ length: 30 }, (_, index) => ({
      ...{ name: `crowd-${index}`, schedule: '0 12 * * *', timezone: 'UTC', tags: ['crowd'] },
      target: { type: 'http' as const, url: host.url('/') },
    }))
    await carillon.client.jobs.bulk({ jobs: crowd })
    await at('/load', async (page) => {
      const line = page.locator('.suggestions li', { hasText: '0 12 * * *' })
      await line.getByRole('button', { name: 'Apply' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByText('30 jobs have this schedule now').waitFor()
      await dialog.getByRole('button', { name: 'Give it to 30 jobs' }).click()
      await line.getByText(/applied/).waitFor()
    })
    const { data } = await carillon.client.jobs.list({ tag: 'crowd', limit: 100 })
    expect(data).toHaveLength(30)
    expect(data.every(({ jitter_seconds: seconds, version }) => seconds > 0 && version === 2)).toBe(true)
  })

  test('runs of one job are those of no other, also right after all were looked at', async () => {
    host.answer = () => ({ status: 200 })
    const make = (name: string) =>
      carillon.client.jobs.create({
        ...{ name, schedule: '@every 1s' },
        target: { type: 'http', url: host.url('/') },
      })
    const [one, other] = [await make('followed'), await make('another')]
    await at('/runs', async (page) => {
      await page.getByRole('link', { name: 'followed' }).first().waitFor()
      await page.getByRole('link', { name: 'another' }).first().waitFor()
      await page.evaluate(
        `history.pushState(null, '', '/runs?job=${one.job_id}'); dispatchEvent(new Event('popstate'))`,
      )
      await page.getByRole('link', { name: 'another' }).first().waitFor({ state: 'detached' })
      await page.waitForTimeout(1_500)
      expect(await page.getByRole('link', { name: 'another' }).count()).toBe(0)
    })
    for (const { job_id: id } of [one, other]) await carillon.client.jobs.delete(id)
  })

  test('who could not ask what is wrong does not say that all is well', async () => {
    const tab = await visit(browser(), `${carillon.url}/jobs`)
    await tab.page.route(/\/dead-letters\/groups/, (route) =>
      route.fulfill({ status: 500, json: { code: 'internal_error', detail: 'It broke.', status: 500 } }),
    )
    await tab.page.goto(carillon.url)
    await tab.page.getByText('It broke.').first().waitFor()
    expect(await tab.page.getByText('Nothing needs you.').count()).toBe(0)
    await tab.context.close()
  })
})
