import { afterAll, beforeAll, expect, test } from 'vitest'
import { Carillon, temporaryFolder, until } from '../support/carillon.js'
import { describeInBrowser, expectNoComplaints, visit } from './browser.js'
import { Receiver } from './receiver.js'

/** What a person does on a bad night, in a real browser against a real server. */
describeInBrowser('the dashboard', (browser) => {
  const folder = temporaryFolder()
  let carillon: Carillon
  let host: Receiver

  beforeAll(async () => {
    host = await Receiver.listen()
    const env = { CARILLON_MIN_INTERVAL_SECONDS: '1' }
    carillon = await Carillon.up({ dataDir: folder.path, env })
    // What is broken here shall die, not be parked.
    await carillon.client.targets.limit(host.host, { breaker_enabled: false })
  })
  afterAll(async () => {
    await carillon?.terminate()
    await host?.close()
    folder.remove()
  })

  test('creates a job, sees it fire, sees it break, finds it in dead letters and re-drives it', async () => {
    const tab = await visit(browser(), carillon.url)
    const { page } = tab
    await page.getByText('No jobs yet.').waitFor()
    await page.getByRole('link', { name: 'Create job' }).click()

    await page.getByLabel('Name').fill('orders:sweep')
    await page.getByLabel('Schedule', { exact: true }).fill('99 * * * *')
    await page.getByRole('alert').filter({ hasText: '99' }).waitFor()
    await page.getByLabel('Schedule', { exact: true }).fill('@every 1s')
    await page.locator('.preview-ticks li').nth(9).waitFor()
    await page.getByLabel('URL').fill(host.url('/sweep'))
    await page.getByLabel('Retries').fill('0')
    await page.getByLabel('Payload, JSON').fill('{"limit": 5')
    await page.getByText('No JSON:').waitFor()
    await page.getByLabel('Payload, JSON').fill('{"limit": 5}')
    await page.getByRole('button', { name: 'Create job' }).click()
    await page.getByRole('heading', { name: 'orders:sweep' }).waitFor()

    // It fires, and the strip grows while it is looked at.
    await page.locator('.cell.good').nth(2).waitFor()
    expect(host.calls).toBeGreaterThan(1)

    host.answer = () => ({ status: 500, body: 'the shelf is gone' })
    await page.locator('.cell.o-dead').first().waitFor()
    await page.locator('.cell.o-dead').first().click()
    await page.locator('.why').getByText('What to do:').waitFor()
    await page.getByRole('link', { name: 'Open the run' }).click()
    await page.locator('.failure.bad').getByText('500').first().waitFor()
    await page.locator('.waterfall .bar.failed').first().waitFor()

    // Nothing new dies while it is looked into.
    await page.getByRole('link', { name: 'orders:sweep' }).click()
    await page.getByRole('button', { name: 'Pause' }).click()
    await page.getByRole('dialog').getByLabel('Reason').fill('the shelf is gone, on it')
    await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click()
    await page.getByText('the shelf is gone, on it').waitFor()
    await page.getByRole('button', { name: 'Resume' }).waitFor()

    host.answer = () => ({ status: 200, body: '{}' })
    await page.getByRole('link', { name: 'Dead letters' }).click()
    await page.locator('.group').first().waitFor()
    const { data } = await carillon.client.deadLetters.list({ limit: 100 })
    expect(data.length).toBeGreaterThan(0)
    await page.getByRole('button', { name: 'Re-drive' }).first().click()
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /^Re-drive \d/ })
      .click()
    // Of a paused job the letters wait with it: resumed, they run and succeed.
    const [letter] = data
    await page.goto(`${carillon.url}/jobs/${letter?.job_id ?? ''}`)
    await page.getByRole('button', { name: 'Resume' }).click()
    await until('all are re-driven', async () => (await carillon.client.deadLetters.list()).data.length === 0)
    await until(
      'they succeeded',
      async () => (await carillon.client.runs.get(letter?.run_id ?? '')).status === 'success',
    )
    await page.getByRole('link', { name: 'Dead letters' }).click()
    await page.getByText('No dead letters.').waitFor()
    expectNoComplaints(tab)
    await tab.context.close()
  })

  test('is steered by the keyboard alone', async () => {
    for (const name of ['alpha', 'beta', 'gamma'])
      await carillon.client.jobs.create({
        name,
        schedule: '0 9 * * *',
        target: { type: 'http', url: host.url('/') },
      })
    const tab = await visit(browser(), `${carillon.url}/jobs?order=name`)
    const { page } = tab
    await page.getByRole('link', { name: 'alpha' }).waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('eta')
    await until(
      'the address says what is searched',
      () => new URL(page.url()).searchParams.get('q') === 'eta',
    )
    await page.getByRole('link', { name: 'alpha' }).waitFor({ state: 'detached' })
    await page.keyboard.press('Escape')
    await page.keyboard.press('j')
    await page.keyboard.press('x')
    await page.getByRole('button', { name: 'Change 1 selected' }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'beta' }).waitFor()
    await page.keyboard.press('Control+k')
    await page.locator('.palette-field:focus').waitFor()
    await page.keyboard.type('gamm')
    await page.getByRole('option', { name: /gamma/ }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'gamma' }).waitFor()
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keyboard' }).waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('g')
    await page.keyboard.press('t')
    await page.getByRole('heading', { name: 'Targets' }).waitFor()
    expectNoComplaints(tab)
    await tab.context.close()
  })

  test('changes all jobs that a filter matches, after it has counted them', async () => {
    const jobs = Array.from({ length: 60 }, (_, index) => ({
      name: `bulk-${index}`,
      schedule: '0 3 * * *',
      tags: ['bulk'],
    }))
    await carillon.client.jobs.bulk({ jobs })
    const tab = await visit(browser(), `${carillon.url}/jobs?tag=bulk`)
    const { page } = tab
    await page.getByRole('button', { name: 'Change all that match' }).click()
    await page.getByRole('dialog').getByText('60').first().waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Pause: 60 jobs' }).click()
    await page.getByText('60 of 60').first().waitFor()
    expect((await carillon.client.jobs.list({ tag: 'bulk', state: 'paused', limit: 100 })).data).toHaveLength(
      60,
    )
    expectNoComplaints(tab)
    await tab.context.close()
  })

  const script = '<img src=x onerror="alert(1)"><script>alert(2)</script>'

  test('shows hostile names, payloads, headers and errors as text, and its policy refuses nothing', async () => {
    const name = `${script}{{7*7}}\u202egnp.exe`
    host.answer = () => ({ status: 500, body: `${script}<svg onload=alert(3)>` })
    const job = await carillon.client.jobs.create({
      name,
      description: script,
      schedule: '@every 1s',
      tags: ['hostile'],
      max_retries: 0,
      payload: { [script]: script },
      target: {
        type: 'http',
        url: host.url(`/?x=${encodeURIComponent(script)}`),
        headers: { 'X-Odd': '"><script>alert(4)</script>' },
      },
    })
    await carillon.client.jobs.pause(job.job_id, { reason: script })
    await carillon.client.jobs.resume(job.job_id)
    const run = await until('it died', async () =>
      (await carillon.client.jobs.runs(job.job_id)).find(({ status }) => status === 'dead'),
    )
    await carillon.client.jobs.pause(job.job_id, { reason: script })
    const tab = await visit(browser(), carillon.url)
    const { page } = tab
    const places = [
      '/',
      '/jobs?tag=hostile',
      `/jobs/${job.job_id}?at=${encodeURIComponent(run.scheduled_at)}`,
      `/jobs/${job.job_id}?tab=definition`,
      `/jobs/${job.job_id}?tab=versions`,
      `/jobs/${job.job_id}/edit`,
      `/runs/${run.run_id}`,
      '/runs',
      '/dead-letters',
      '/audit',
      `/jobs?q=${encodeURIComponent(script)}&tag=${encodeURIComponent(script)}`,
    ]
    for (const place of places) {
      await page.goto(carillon.url + place)
      await page
        .getByText(/alert\(1\)/)
        .first()
        .waitFor({ state: 'attached', timeout: 20_000 })
        .catch(() => undefined)
      const made = await page.evaluate<number>(
        `document.querySelectorAll('main img, main script, main svg[onload]').length`,
      )
      expect(made, place).toBe(0)
    }
    await page.goto(`${carillon.url}/jobs/${job.job_id}`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toContain(script)
    expectNoComplaints(tab)
    await tab.context.close()
  })
})
