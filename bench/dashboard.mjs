// How long the dashboard takes with very many jobs, from the key that is pressed to the rows that are drawn, in a real Chromium.
// By hand: node bench/dashboard.mjs [--n 1000000] [--data-dir DIR] [--rounds 5] [--json]
// The folder is seeded if it is empty, and stays; without one a temporary one is made, and removed.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { chromium } from 'playwright-core'
import { pathOf } from '../scripts/install-parts.mjs'

const { values: options } = parseArgs({
  options: {
    n: { type: 'string', default: '1000000' },
    'data-dir': { type: 'string' },
    rounds: { type: 'string', default: '5' },
    json: { type: 'boolean', default: false },
  },
})
const command = fileURLToPath(new URL('../packages/cli/bin/carillon.js', import.meta.url))
const rounds = Number(options.rounds)
const temporary = options['data-dir'] === undefined
const folder = options['data-dir'] ?? mkdtempSync(join(tmpdir(), 'carillon-dashboard-bench-'))
const executablePath = pathOf('chromium')
if (executablePath === null) throw new Error('chromium is not installed: node scripts/install-parts.mjs')

seed()
const { server, url } = await start()
const browser = await chromium.launch({
  executablePath,
  args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
})
try {
  const page = await browser.newPage({ viewport: { width: 1360, height: 860 } })
  const measured = []
  for (const [name, begin, act, asked] of steps()) {
    const times = []
    for (let round = 0; round < rounds; round++) times.push(await time(page, begin, act, asked))
    measured.push({ name, ...summary(times) })
    if (!options.json) console.log(line(measured.at(-1)))
  }
  if (options.json) console.log(JSON.stringify({ jobs: Number(options.n), rounds, measured }, null, 2))
} finally {
  await browser.close()
  server.kill('SIGTERM')
  await new Promise((resolve) => server.once('exit', resolve))
  if (temporary) rmSync(folder, { recursive: true, force: true })
}

function seed() {
  mkdirSync(folder, { recursive: true })
  if (existsSync(folder) && readdirSync(folder).length > 0) return
  const args = [
    'bench',
    'seed',
    '--n',
    options.n,
    '--first-in',
    '6h',
    '--data-dir',
    folder,
    '--json',
    '--yes',
  ]
  const { status, stderr } = spawnSync(process.execPath, [command, ...args], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`carillon bench seed ended with ${status}:\n${stderr}`)
}

async function start() {
  const child = spawn(process.execPath, [command, 'up', '--json', '--port', '0', '--data-dir', folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, CARILLON_LOG_LEVEL: 'error' },
  })
  const text = await new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`carillon up ended with ${code}`)))
    child.stdout.once('data', (chunk) => resolve(chunk.toString()))
  })
  return { server: child, url: JSON.parse(text.split('\n')[0]).url }
}

/** Each: its name, where it begins, what a person does, and which call of the API that leads to. */
function steps() {
  const search = (text, what) => [
    `search as you type: ${JSON.stringify(text)}, ${what}`,
    '/jobs',
    async (page) => {
      await page.locator('input[data-search]').focus()
      await page.keyboard.type(text, { delay: 40 })
      return performance.now()
    },
    (call) => call.pathname === '/api/v1/jobs' && call.searchParams.get('search') === text,
  ]
  const click = (name, begin, locate, isAsked) => [
    name,
    begin,
    async (page) => {
      const at = performance.now()
      await locate(page)
      return at
    },
    isAsked,
  ]
  const jobs = (wanted) => (call) =>
    call.pathname === '/api/v1/jobs' &&
    Object.entries(wanted).every(([name, value]) =>
      value === true ? call.searchParams.has(name) : call.searchParams.get(name) === value,
    )
  const open = (name, path, pathname) =>
    click(
      name,
      '/keys',
      (page) => page.goto(url + path),
      (call) => call.pathname === pathname,
    )
  return [
    open('jobs, opened', '/jobs', '/api/v1/jobs'),
    search('seed', 'in every name'),
    search('99999', 'in few names'),
    search('9', 'one letter, no index'),
    search('nowhere', 'in none'),
    click(
      'facet: state active',
      '/jobs',
      (page) => page.getByRole('button', { name: 'active' }).click(),
      jobs({ state: 'active' }),
    ),
    click(
      'facet: state paused',
      '/jobs',
      (page) => page.getByRole('button', { name: 'paused' }).click(),
      jobs({ state: 'paused' }),
    ),
    click(
      'facet: target task',
      '/jobs',
      (page) => page.getByLabel('Target').selectOption('task'),
      jobs({ target: 'task' }),
    ),
    click(
      'facet: target http',
      '/jobs',
      (page) => page.getByLabel('Target').selectOption('http'),
      jobs({ target: 'http' }),
    ),
    click(
      'sort by name',
      '/jobs',
      (page) => page.getByLabel('Sort').selectOption('name'),
      jobs({ order: 'name' }),
    ),
    click(
      'sort by newest',
      '/jobs',
      (page) => page.getByLabel('Sort').selectOption('newest'),
      jobs({ order: 'newest' }),
    ),
    click(
      'next page, by next run',
      '/jobs',
      (page) => page.getByRole('button', { name: 'Next page' }).click(),
      jobs({ cursor: true }),
    ),
    click(
      'next page, by name, of a search',
      '/jobs?order=name&q=999',
      (page) => page.getByRole('button', { name: 'Next page' }).click(),
      jobs({ cursor: true }),
    ),
    click(
      'count of all, before a change',
      '/jobs',
      (page) => page.getByRole('button', { name: /^Change all/ }).click(),
      (call) => call.pathname === '/api/v1/operations',
    ),
    open('overview', '/', '/api/v1/stats/history'),
    open('load', '/load', '/api/v1/load/forecast'),
    open('runs', '/runs', '/api/v1/runs'),
    open('targets', '/targets', '/api/v1/targets'),
  ]
}

async function time(page, begin, act, isAsked) {
  await page.goto(url + begin)
  await page.locator('main h1').first().waitFor()
  await page.locator('.bone').first().waitFor({ state: 'detached' })
  const answered = page.waitForResponse((answer) => isAsked(new URL(answer.url())), { timeout: 120_000 })
  const at = await act(page)
  const answer = await answered
  await answer.finished()
  await page.evaluate(
    () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))),
  )
  const seen = performance.now() - at
  const { requestStart, responseEnd } = answer.request().timing()
  return { seen, call: responseEnd - requestStart }
}

function summary(times) {
  const of = (name) => times.map((one) => one[name]).sort((a, b) => a - b)
  const middle = (sorted) => Math.round(sorted[Math.floor(sorted.length / 2)])
  return {
    call_ms: middle(of('call')),
    call_most_ms: Math.round(of('call').at(-1)),
    seen_ms: middle(of('seen')),
    seen_most_ms: Math.round(of('seen').at(-1)),
  }
}

function line({ name, call_ms, call_most_ms, seen_ms, seen_most_ms }) {
  return `${name.padEnd(48)} call ${String(call_ms).padStart(5)} (${call_most_ms})  seen ${String(seen_ms).padStart(5)} ms (${seen_most_ms})`
}
