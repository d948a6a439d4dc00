import { afterAll, beforeAll, expect, test } from 'vitest'
import { Carillon, temporaryFolder, until } from '../support/carillon.js'
import { axe, describeInBrowser, expectNoComplaints, type Visit, visit } from './browser.js'
import { Receiver } from './receiver.js'

/** Alerts, silences, rules and channels, by the routes of a real server. */
describeInBrowser('alerts', (browser) => {
  const folder = temporaryFolder()
  let carillon: Carillon
  let failing: Receiver
  let ear: Receiver

  beforeAll(async () => {
    failing = await Receiver.listen()
    ear = await Receiver.listen()
    failing.answer = () => ({ status: 422, body: 'no customer' })
    carillon = await Carillon.up({ dataDir: folder.path, env: { CARILLON_MIN_INTERVAL_SECONDS: '1' } })
    await carillon.client.targets.limit(failing.host, { breaker_enabled: false })
    await carillon.client.jobs.create({
      ...{ name: 'billing:charge', schedule: '@every 1s', tags: ['billing'], max_retries: 0 },
      target: { type: 'http', url: failing.url('/charge') },
    })
    const fires = async () => (await carillon.client.alerts.list({ state: 'firing' })).data.length > 0
    await until('an alert fires', fires, 120_000)
  })
  afterAll(async () => {
    await carillon?.terminate()
    await failing?.close()
    await ear?.close()
    folder.remove()
  })

  async function open(): Promise<Visit> {
    const tab = await visit(browser(), `${carillon.url}/alerts`)
    await tab.page.getByRole('table', { name: 'Alert rules' }).waitFor()
    return tab
  }

  test('a channel is added, tried, changed and deleted; its address is never shown again', async () => {
    const tab = await open()
    const { page } = tab
    const dialog = page.getByRole('dialog')
    await page.getByRole('button', { name: 'Add channel' }).click()
    await dialog.getByLabel('Name').fill('pager')
    await dialog.getByRole('button', { name: 'Add' }).click()
    // Without an address the server refuses it, and says so at the field.
    await dialog.locator('.field.wrong', { hasText: 'URL' }).waitFor()
    await dialog.getByLabel('URL').fill(ear.url('/secret-path'))
    await dialog.getByRole('button', { name: 'Add' }).click()
    const line = page.locator('li.line', { hasText: 'pager' })
    await line.getByText('webhook').waitFor()
    expect(await page.locator('main').textContent()).not.toContain('secret-path')
    const before = ear.calls
    await line.getByRole('button', { name: 'Test' }).click()
    await page.getByText('pager took a test').waitFor()
    expect(ear.calls).toBeGreaterThan(before)
    ear.answer = () => ({ status: 500 })
    await line.getByRole('button', { name: 'Test' }).click()
    await page.getByText(/pager did not take it/).waitFor()
    ear.answer = () => ({ status: 200 })

    await line.getByRole('button', { name: 'Change' }).click()
    await dialog.getByLabel('Name').fill('pager of the night')
    await dialog.getByLabel('From this severity on').selectOption('critical')
    expect(await axe(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByText('pager of the night').waitFor()
    const [channel] = (await carillon.client.alertChannels.list()).data
    expect(channel).toMatchObject({ min_severity: 'critical' })
    // The address stayed: it is still taken there.
    expect(await carillon.client.alertChannels.test(channel?.channel_id ?? '')).toMatchObject({ ok: true })

    await line.getByRole('button', { name: 'Delete' }).click()
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await page.getByText('None: alerts are seen here, and nobody is told.').waitFor()
    expect((await carillon.client.alertChannels.list()).data).toEqual([])
    expectNoComplaints(tab)
    await tab.context.close()
  })

  test('a rule is added for a tag, changed and deleted; a default is changed by a rule for all', async () => {
    const tab = await open()
    const { page } = tab
    const dialog = page.getByRole('dialog')
    const own = async () =>
      (await carillon.client.alertRules.list()).data.filter(({ rule_id: id }) => id !== null)
    await page.getByRole('button', { name: 'Add rule' }).click()
    await dialog.getByLabel('Kind').selectOption('failed_in_row')
    await dialog.getByLabel('Only of jobs with the tag').fill('billing')
    await dialog.getByLabel('times').fill('many')
    await dialog.getByText('A number.').waitFor()
    await dialog.getByLabel('times').fill('7')
    await dialog.getByLabel('Severity').selectOption('critical')
    await dialog.getByRole('button', { name: 'Add' }).click()
    const row = page.locator('tr', { hasText: 'billing' })
    await row.getByText('times 7').waitFor()
    expect(await own()).toMatchObject([{ kind: 'failed_in_row', tag: 'billing', severity: 'critical' }])

    await row.getByRole('button', { name: 'Change' }).click()
    expect(await dialog.getByLabel('times').inputValue()).toBe('7')
    await dialog.getByLabel('times').fill('9')
    await dialog.getByLabel('Raise alerts by this rule').uncheck()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await row.getByText('times 9').waitFor()
    expect(await own()).toMatchObject([{ enabled: false, params: { times: 9 } }])
    await row.getByRole('button', { name: 'Delete' }).click()
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await row.waitFor({ state: 'detached' })

    const kind = page.locator('tr', { hasText: /^missed tick/ })
    await kind.getByRole('button', { name: 'Change' }).click()
    await dialog.getByLabel('Severity').selectOption('info')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await kind.getByText('info').waitFor()
    expect(await own()).toMatchObject([{ job_id: null, tag: null, severity: 'info' }])
    expectNoComplaints(tab)
    await tab.context.close()
  })

  test('an alert that fires is silenced with a reason, and told again when the silence ends', async () => {
    const tab = await open()
    const { page } = tab
    const dialog = page.getByRole('dialog')
    const alert = page.locator('.group', { hasText: 'billing:charge' }).first()
    await alert.getByRole('button', { name: 'Silence' }).click()
    expect(await dialog.getByRole('button', { name: 'Silence' }).isDisabled()).toBe(true)
    await dialog.getByLabel('Hours').fill('2')
    await dialog.getByLabel('Reason').fill('known, the customer is told')
    await dialog.getByRole('button', { name: 'Silence' }).click()
    const silence = page.locator('li.line', { hasText: 'known, the customer is told' })
    await silence.waitFor()
    const [made] = (await carillon.client.alertSilences.list()).data
    expect(made).toMatchObject({ job_name: 'billing:charge', reason: 'known, the customer is told' })
    const hours = (Date.parse(made?.until ?? '') - Date.now()) / 3_600_000
    expect(hours).toBeGreaterThan(1.5)
    expect(hours).toBeLessThan(2.5)
    expect(await axe(page)).toEqual([])
    await silence.getByRole('button', { name: 'End' }).click()
    await page.getByText('None: every alert is told.').waitFor()

    // And one of a kind, of the jobs with a tag.
    await page.getByRole('button', { name: 'Add silence' }).click()
    await dialog.getByLabel('Kind').selectOption('slow_run')
    await dialog.getByLabel('Only of jobs with the tag').fill('billing')
    await dialog.getByLabel('Reason').fill('a slow week')
    await dialog.getByRole('button', { name: 'Silence' }).click()
    await page.locator('li.line', { hasText: 'a slow week' }).waitFor()
    expect((await carillon.client.alertSilences.list()).data).toMatchObject([
      { kind: 'slow_run', tag: 'billing', job_id: null },
    ])
    expectNoComplaints(tab)
    await tab.context.close()
  })
})
