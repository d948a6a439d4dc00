import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pages as generated } from '../../../../../scripts/generate-docs.mjs'
import { joinEmbeddedPostgres } from '../../../src/db/embedded/index.js'
import { temporaryFolder } from '../support/carillon.js'
import { blocksOfPage, leftOut, pagesToRun, placeOf } from './blocks.js'
import { type House, makeTemplate, openHouse } from './house.js'
import { setUps } from './pages.js'
import { removePrograms, typeMistakes } from './programs.js'
import { PageRun, type Rule } from './run.js'

// Every fenced block of README.md and docs/ is run, page by page and from top to bottom, as a reader would: each page
// with a server and a database of its own. What cannot be run says so above itself, and is counted below.

const pages = pagesToRun()
  .map((page) => ({ page, blocks: blocksOfPage(page) }))
  .filter(({ blocks }) => blocks.length > 0)
const all = pages.flatMap(({ blocks }) => blocks)
const toRun = all.filter(({ notRun }) => notRun === undefined)

const folder = temporaryFolder()
let postgres: Awaited<ReturnType<typeof joinEmbeddedPostgres>>

beforeAll(async () => {
  postgres = await joinEmbeddedPostgres({ dataDir: join(folder.path, 'data') })
  await makeTemplate(postgres.url)
})
afterAll(async () => {
  removePrograms()
  await postgres.leave()
  folder.remove()
})

test('every block is run, or says above itself why it is not', () => {
  const said = all.filter(({ notRun }) => notRun !== undefined)
  const languages = [...new Set(toRun.map(({ language }) => language))]
  const counts = languages.map(
    (name) => `${toRun.filter(({ language }) => language === name).length} ${name}`,
  )
  console.log(`${toRun.length} blocks of ${pages.length} pages are run: ${counts.sort().join(', ')}`)
  for (const block of said) console.log(`not run: ${placeOf(block)}: ${block.notRun}`)
  for (const { path, why } of leftOut) console.log(`left out: ${path}: ${why}`)
  expect(said.filter(({ notRun }) => notRun === '').map(placeOf)).toEqual([])
  // A mark is for what cannot be run, not for what is tiresome.
  expect(said.length).toBeLessThan(all.length / 10)
  expect(toRun.length).toBeGreaterThan(80)
})

test('what is left out is the decisions and the generated pages, and every set-up is of a page with blocks', () => {
  const made = generated.map(({ file }) => file).sort()
  expect(leftOut.map(({ path }) => path).sort()).toEqual(['docs/adr/', ...made])
  const known = pages.map(({ page }) => page)
  expect(Object.keys(setUps).filter((page) => !known.includes(page))).toEqual([])
})

test('programs on the pages have the types that they use', () => {
  const sources = new Map(
    toRun
      .filter(({ language }) => language === 'ts')
      .map((block) => {
        const rule = rulesOf(block.page).find(({ of }) => block.code.includes(of))
        return [placeOf(block), `${rule?.prelude ?? ''}${block.code}${rule?.coda ?? ''}\nexport {}\n`]
      }),
  )
  expect(sources.size).toBeGreaterThan(5)
  const mistakes = [...typeMistakes(sources)].flatMap(([place, found]) =>
    found.map((one) => `${place} ${one}`),
  )
  expect(mistakes).toEqual([])
})

function rulesOf(page: string): readonly Rule[] {
  return setUps[page]?.rules ?? []
}

const noPython = spawnSync('python3', ['--version']).status !== 0
if (noPython) console.warn('SKIPPED: blocks in Python are not run, because python3 is not installed.')

function isMissing(language: string): boolean {
  return language === 'python' && noPython && process.env['CARILLON_REQUIRE_ALL'] !== '1'
}

describe.each(pages)('$page', ({ page, blocks }) => {
  let house: House
  let run: PageRun

  beforeAll(async () => {
    const { args = [], env = {}, byThePage = false, programs = {}, setUp } = setUps[page] ?? {}
    const name = `page_${page.replace(/\W+/g, '_').toLowerCase()}`
    house = await openHouse({ name, postgresUrl: postgres.url, args, env, byThePage, programs })
    run = new PageRun(house, rulesOf(page))
    await setUp?.(house)
  })
  afterAll(async () => {
    await house.close()
  })

  const runnable = blocks.filter(({ notRun, language }) => notRun === undefined && !isMissing(language))
  test.each(runnable.map((block) => [block.line, block.language, block.heading, block] as const))(
    'line %i: %s below "%s" does what the page says',
    async (_line, _language, _heading, block) => {
      await run.run(block)
    },
  )

  test.skipIf(blocks.some(({ language }) => isMissing(language)))(
    'every rule of its set-up is of use',
    () => {
      expect(run.unused()).toEqual([])
    },
  )
})
