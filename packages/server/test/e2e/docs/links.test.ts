import { readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { describe, expect, test } from 'vitest'
import { allPages, root } from './blocks.js'
import { anchorsOf, brokenLinks, linksOf } from './links.js'

const others = ['ARCHITECTURE.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'deploy/README.md']
const pages = [...allPages(), ...others]

test.each(pages)('%s: every link leads to a file and a heading that are there', (page) => {
  expect(brokenLinks(page)).toEqual([])
})

test.each([
  ['quick start', 'README.md#five-minutes'],
  ['SDK guide', 'docs/guides/sdk.md'],
  ['CLI reference', 'docs/reference/cli.md'],
  ['API reference', 'docs/reference/api.md'],
  ['import guide', 'docs/guides/import.md'],
  ["why didn't it run?", 'docs/operate/why-didnt-it-run.md'],
])('the %s is linked from the index of the docs and from README', (_what, place) => {
  expect(linkedFrom('docs/README.md')).toContain(place)
  const [file = ''] = place.split('#')
  expect(file === 'README.md' ? [file] : linkedFrom('README.md')).toContain(file)
})

test('every page can be found from the index of the docs', () => {
  const found = new Set(['docs/README.md'])
  for (const page of found)
    for (const place of linkedFrom(page)) {
      const [file = ''] = place.split('#')
      if (pages.includes(file)) found.add(file)
    }
  expect(pages.filter((page) => !found.has(page))).toEqual([])
})

function linkedFrom(page: string): string[] {
  return linksOf(readFileSync(join(root, page), 'utf8')).map(({ target }) =>
    target.startsWith('#') ? `${page}${target}` : normalize(join(dirname(page), target)),
  )
}

describe('links', () => {
  test('are read outside of code, and only those to places here', () => {
    const text = 'a [b](c.md#d) `[e](f)` [g](https://h)\n```\n[i](j)\n```\n[k](#l)'
    expect(linksOf(text)).toEqual([
      { line: 1, target: 'c.md#d' },
      { line: 5, target: '#l' },
    ])
  })

  test('to headings have the names that GitHub gives them', () => {
    const text =
      "# Why didn't it run?\n## `ctx.once`: an effect\n## The [key](a.md)\n## Run\n## Run\n```\n# no\n```"
    expect([...anchorsOf(text)]).toEqual(['why-didnt-it-run', 'ctxonce-an-effect', 'the-key', 'run', 'run-1'])
  })
})
