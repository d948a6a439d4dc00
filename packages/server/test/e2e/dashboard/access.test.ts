import type { RevealedKey } from '@carillon/sdk'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Carillon, temporaryFolder } from '../support/carillon.js'
import { axe, describeInBrowser, expectNoComplaints, visit } from './browser.js'

const env = { CARILLON_MIN_INTERVAL_SECONDS: '1' }

describeInBrowser('where keys are required', (browser) => {
  const folder = temporaryFolder()
  let carillon: Carillon
  let keys: Record<'viewer' | 'operator' | 'admin', RevealedKey>
  let jobId = ''

  beforeAll(async () => {
    const open = await Carillon.up({ dataDir: folder.path, env })
    const make = (role: 'viewer' | 'operator' | 'admin') =>
      open.client.keys.create({ name: `on-call ${role}`, role })
    keys = { viewer: await make('viewer'), operator: await make('operator'), admin: await make('admin') }
    const job = await open.client.jobs.create({
      name: 'guarded',
      schedule: '0 9 * * *',
      target: { type: 'task', task: 'none' },
    })
    jobId = job.job_id
    await open.terminate()
    carillon = await Carillon.up({ dataDir: folder.path, env: { ...env, CARILLON_REQUIRE_KEYS: 'true' } })
  })
  afterAll(async () => {
    await carillon?.terminate()
    folder.remove()
  })

  async function signIn(key: string, path = '/jobs') {
    const tab = await visit(browser(), carillon.url + path)
    await tab.page.getByLabel('API key').fill(key)
    await tab.page.getByRole('button', { name: 'Sign in' }).click()
    return tab
  }

  test('nothing is shown before a key is given, and a wrong one opens nothing', async () => {
    const tab = await signIn('car_wrong')
    await tab.page.getByText('The key is unknown, revoked or expired.').waitFor()
    expect(await tab.page.getByText('guarded').count()).toBe(0)
    expect(await axe(tab.page)).toEqual([])
    await tab.context.close()
  })

  test('a viewer sees everything of its tenant and no button that writes', async () => {
    const tab = await signIn(keys.viewer.key)
    const { page } = tab
    await page.getByRole('link', { name: 'guarded' }).waitFor()
    const writes =
      /^(Create|Change|Trigger|Pause$|Resume|Retry|Edit|Backfill$|Cancel|Delete|Re-drive|Discard|Skip|Move|Take|Roll back|Brake|Limits|Reset|Add|Silence|Resolve|End$|Test|Stop|Apply|Rotate|Revoke)/
    for (const place of [
      '/',
      '/jobs',
      `/jobs/${jobId}`,
      `/jobs/${jobId}?tab=ticks`,
      `/jobs/${jobId}?tab=versions`,
      '/dead-letters',
      '/cluster',
      '/targets',
      `/jobs/${jobId}?tab=backfills`,
      '/alerts',
      '/load',
      '/operations',
    ]) {
      await page.goto(carillon.url + place)
      await page.locator('main h1, main .tiles').first().waitFor()
      await page.locator('.bone').first().waitFor({ state: 'detached' })
      expect(await page.locator('main').getByRole('button', { name: writes }).count(), place).toBe(0)
      expect(await page.locator('main').getByRole('link', { name: writes }).count(), place).toBe(0)
    }
    for (const place of ['/jobs/new', `/jobs/${jobId}/edit`]) {
      await page.goto(carillon.url + place)
      await page.getByText('Your key may look').waitFor()
    }
    expect(await page.getByRole('link', { name: 'Keys' }).count()).toBe(0)
    expect(await page.getByRole('link', { name: 'Audit' }).count()).toBe(0)
    expectNoComplaints(tab)
    await tab.context.close()
  })

  test('an operator has the buttons, an admin the keys as well', async () => {
    const tab = await signIn(keys.operator.key, `/jobs/${jobId}`)
    await tab.page.getByRole('button', { name: 'Trigger' }).waitFor()
    expect(await tab.page.getByRole('link', { name: 'Keys' }).count()).toBe(0)
    await tab.context.close()

    const admin = await signIn(keys.admin.key, '/keys')
    await admin.page.getByRole('cell', { name: 'on-call viewer' }).waitFor()
    await admin.page.getByRole('button', { name: 'Create key' }).click()
    await admin.page.getByRole('dialog').getByLabel('Name').fill('grafana')
    await admin.page.getByRole('dialog').getByRole('button', { name: 'Create' }).click()
    await admin.page.getByRole('dialog').getByText(/^car_/).waitFor()
    await admin.context.close()
  })

  test('the key stays in its tab: a reload keeps it, another tab asks, a sign-out forgets it', async () => {
    const tab = await signIn(keys.viewer.key)
    await tab.page.getByRole('link', { name: 'guarded' }).waitFor()
    await tab.page.reload()
    await tab.page.getByRole('link', { name: 'guarded' }).waitFor()
    const other = await tab.context.newPage()
    await other.goto(`${carillon.url}/jobs`)
    await other.getByLabel('API key').waitFor()
    await tab.page.getByRole('button', { name: 'Sign out' }).click()
    await tab.page.getByLabel('API key').waitFor()
    await tab.page.reload()
    await tab.page.getByLabel('API key').waitFor()
    const kept = await tab.page.evaluate<string>(
      `JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])`,
    )
    expect(kept).not.toContain('car_')
    await tab.context.close()
  })

  test('a key that is revoked while somebody looks leads back to the login', async () => {
    const { createClient } = await import('@carillon/sdk')
    const client = createClient({ url: carillon.url, apiKey: keys.admin.key })
    const short = await client.keys.create({ name: 'short', role: 'viewer' })
    const tab = await signIn(short.key)
    await tab.page.getByRole('link', { name: 'guarded' }).waitFor()
    await client.keys.revoke(short.key_id)
    await tab.page.getByLabel('API key').waitFor()
    await tab.context.close()
  })
})
