import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { pathOf } from '../../../../../scripts/install-parts.mjs'

const executablePath = pathOf('chromium')
const mayBeMissing = process.env['CARILLON_REQUIRE_ALL'] !== '1'
const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** No call of the browser's own leaves the machine. */
const quiet = [
  ...['--no-sandbox', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  ...['--disable-default-apps', '--no-first-run', '--disable-domain-reliability', '--disable-breakpad'],
  ...[
    '--disable-features=Translate,OptimizationHints,MediaRouter',
    '--disable-gpu',
    '--disable-dev-shm-usage',
  ],
]

/** Tests in a real browser. Where there is none they are skipped, loudly; CARILLON_REQUIRE_ALL=1 makes that a failure. */
export function describeInBrowser(name: string, tests: (browser: () => Browser) => void): void {
  const skip = executablePath === null && mayBeMissing
  if (skip)
    console.error(`SKIPPED: ${name}: chromium is not installed. As root: node scripts/install-parts.mjs`)
  describe.skipIf(skip)(name, () => {
    let browser: Browser
    beforeAll(async () => {
      if (executablePath === null)
        throw new Error('chromium is not installed: node scripts/install-parts.mjs')
      browser = await chromium.launch({ executablePath, args: quiet })
    })
    afterAll(() => browser?.close())
    tests(() => browser)
  })
}

export interface Visit {
  page: Page
  context: BrowserContext
  /** Addresses of every request, in order. */
  requests: string[]
  /** What a page must not have: errors of scripts, refusals of the content security policy, requests elsewhere. */
  complaints: string[]
}

export interface VisitOptions {
  theme?: 'dark' | 'light'
  zone?: string
  size?: { width: number; height: number }
}

/** A tab that notes everything that is wrong with the page. */
export async function visit(browser: Browser, url: string, options: VisitOptions = {}): Promise<Visit> {
  const { theme = 'dark', zone = 'Europe/Berlin', size = { width: 1360, height: 860 } } = options
  const context = await browser.newContext({ colorScheme: theme, timezoneId: zone, viewport: size })
  const requests: string[] = []
  const complaints: string[] = []
  const { origin } = new URL(url)
  context.on('request', (request) => {
    requests.push(request.url())
    if (new URL(request.url()).origin !== origin) complaints.push(`asked elsewhere: ${request.url()}`)
  })
  await context.addInitScript(`
    addEventListener('securitypolicyviolation', (event) => {
      console.error('CSP refused ' + event.violatedDirective + ' ' + event.blockedURI)
    })
  `)
  const page = await context.newPage()
  page.on('pageerror', (error) => complaints.push(`script failed: ${error.message}`))
  page.on('dialog', (dialog) => {
    complaints.push(`a script spoke: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('console', (message) => {
    // What the network refuses on purpose, as a 401 before the login, is told by the browser as an error as well.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      complaints.push(message.text())
  })
  await page.goto(url)
  return { page, context, requests, complaints }
}

interface AxeResults {
  violations: { id: string; help: string; nodes: { target: string[]; failureSummary?: string }[] }[]
}

/** What axe-core finds against WCAG 2 A and AA. Evaluated through the debugger: the page's policy allows no added script. */
export async function axe(page: Page): Promise<string[]> {
  await page.evaluate(axeSource)
  const run = `axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'] })`
  const { violations } = await page.evaluate<AxeResults>(run)
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.slice(0, 3).map((node) => `${id}: ${help}: ${node.target.join(' ')} ${node.failureSummary ?? ''}`),
  )
}

export function expectNoComplaints({ complaints }: Visit): void {
  expect(complaints).toEqual([])
}
