import { describe, expect, test } from 'vitest'
import { blocksOf } from './blocks.js'
import { callsOf, commandsOf } from './commands.js'
import { jsonOfPage, patternOf, unlike, withDatesMoved } from './likeness.js'

describe('blocks of a page', () => {
  const page = (...lines: string[]) => blocksOf(lines.join('\n'), 'page.md')

  test('are all found, with their language, heading, line and marks', () => {
    const found = page(
      '# One',
      '<!-- file: a.mjs -->',
      '```js',
      'a()',
      '```',
      '- in a list',
      '  ```',
      '  b',
      '  ```',
      '## Two',
      '<!-- not run: a drawing -->',
      '~~~~text',
      '~~~',
      '~~~~',
    )
    expect(found).toMatchObject([
      { line: 3, heading: 'One', language: 'js', code: 'a()\n', file: 'a.mjs', notRun: undefined },
      { line: 7, heading: 'One', language: '', code: 'b\n', file: undefined },
      { line: 12, heading: 'Two', language: 'text', code: '~~~\n', notRun: 'a drawing' },
    ])
  })

  test('have only the marks right above them', () => {
    expect(page('<!-- not run: why -->', 'A word between.', '```sh', 'a', '```')[0]?.notRun).toBeUndefined()
  })

  test('cannot hide behind an open fence or an indentation', () => {
    expect(() => page('```sh', 'a')).toThrow('page.md:1: the block is not closed')
    expect(() => page('A word.', '', '    rm -rf /')).toThrow('page.md:3: an indented block')
    expect(page('- a list', '', '    goes on here')).toEqual([])
  })
})

describe('commands of a block', () => {
  test('go on where a quote is open or a line ends with a backslash, and not in a comment', () => {
    const code = "a 'x\ny' \\\n  b   # don't stop here\n# a comment\n\nc\n"
    expect(commandsOf('sh', code).map(({ text }) => text)).toEqual([
      "a 'x\ny' \\\n  b   # don't stop here",
      'c',
    ])
  })

  test('have the output that a console block shows below them', () => {
    expect(commandsOf('console', '$ a\nb\n\nc\n\n$ d\n')).toEqual([
      { text: 'a', output: 'b\n\nc\n' },
      { text: 'd', output: undefined },
    ])
    expect(() => commandsOf('console', 'a\n')).toThrow('begins with a command')
  })

  test('of HTTP have their body behind them or below, and what is answered after an arrow', () => {
    const code = 'GET /a   a word to the reader\nPOST /b  {"c": 1}\n  → 201 {"d": 2}\nPUT /e\n{"f": 3}\n'
    expect(callsOf(code)).toEqual([
      { method: 'GET', path: '/a', body: undefined, status: undefined, answer: undefined },
      { method: 'POST', path: '/b', body: '{"c": 1}', status: 201, answer: '{"d": 2}' },
      { method: 'PUT', path: '/e', body: '{"f": 3}', status: undefined, answer: undefined },
    ])
  })
})

describe('what is printed is what the page shows', () => {
  const same = (page: string, printed: string) => patternOf(page).test(printed)

  test.each([
    ['another id', 'job job_01m7gfjn88 made', 'job job_01m7hv1kby made', true],
    [
      'another time',
      'next run 2026-11-15 20:50:01 UTC (now)',
      'next run 2027-01-02 03:04:05 UTC (2 s ago)',
      true,
    ],
    ['another duration', 'ready (1.6 s)', 'ready (950 ms)', true],
    ['more where the page says so', '{"a":1, … }', '{"a":1, "b":2 }', true],
    ['another word', 'Registered hello', 'Changed hello', false],
    ['another number', '3 jobs match', '4 jobs match', false],
    ['more below', 'one', 'one\ntwo', false],
    ['less', 'one\ntwo', 'one', false],
    ['a time in another form', '2026-11-16T14:00:00.000Z', '2026-11-16T14:00:00Z', false],
  ])('%s', (_what, page, printed, expected) => {
    expect(same(page, printed)).toBe(expected)
  })

  test('JSON may leave members out, and nothing else', () => {
    const [page] = jsonOfPage('{"a": "job_…", "list": [{"b": 1}], …}')
    expect(unlike(page, { a: 'job_01', list: [{ b: 1, more: true }], c: 3 })).toEqual([])
    expect(unlike(page, { a: 'run_01', list: [{ b: 2 }] })).toEqual([
      '/a: the page has "job_…", the answer "run_01"',
      '/list/0/b: the page has 1, the answer 2',
    ])
    expect(unlike(page, { a: 'job_01', list: [] })).toHaveLength(1)
    expect(unlike({ gone: 1 }, {})).toEqual(['/gone: the page has 1, the answer undefined'])
  })

  test('dates of the time of writing move by whole weeks, older ones stay', () => {
    const text = 'from 2026-03-28T00:00:00Z to 2026-12-24T02:00:00Z'
    expect(withDatesMoved(text, Date.UTC(2026, 10, 16, 9))).toBe(text)
    expect(withDatesMoved(text, Date.UTC(2027, 0, 1))).toBe(
      'from 2026-03-28T00:00:00Z to 2027-02-04T02:00:00Z',
    )
    expect(withDatesMoved('2026-11-16', Date.UTC(2026, 10, 10))).toBe('2026-11-09')
  })
})
