import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createLog, type LogOptions } from './log.js'

function logOf(format: LogOptions['format'], level = 'info') {
  const lines: string[] = []
  return { log: createLog({ level, format }, (line) => lines.push(line)), lines }
}

/** What a terminal would act on instead of showing it: C0, DEL and C1. A line ends with one newline, and that is all. */
const acting = /[\u0000-\u001f\u007f-\u009f]/
const hostile = fc.string({
  unit: fc.constantFrom('\u001b[2J', '\n', '\r', '\u0007', '\u009b31m', '\u007f', 'a', ' ', '=', '"', '\\'),
})

describe('json', () => {
  it('is one object per line, with an ISO time and the level as a number', () => {
    const { log, lines } = logOf('json')
    log.warn({ node: 'node_1', err: new Error('away') }, 'lost\nit')
    expect(lines).toHaveLength(1)
    expect(lines[0]).toMatch(/^\{.*\}\n$/)
    const line = JSON.parse(lines[0] ?? '') as Record<string, unknown>
    expect(line).toMatchObject({ level: 40, msg: 'lost\nit', node: 'node_1', err: { message: 'away' } })
    expect(line.time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  })

  it('names neither host nor process: the node is told where it matters', () => {
    const { log, lines } = logOf('json')
    log.info('up')
    expect(Object.keys(JSON.parse(lines[0] ?? '') as object).sort()).toEqual(['level', 'msg', 'time'])
  })
})

describe('pretty', () => {
  it('is one short line: time of day, level, message, fields', () => {
    const { log, lines } = logOf('pretty')
    log.error({ loop: 'fire', failures: 3, err: new Error('away') }, 'loop failed')
    expect(lines).toHaveLength(1)
    expect(lines[0]).toMatch(/^\d\d:\d\d:\d\d\.\d{3} error loop failed {2}loop=fire failures=3 error=away\n$/)
  })

  it('shows lists and objects as JSON', () => {
    const { log, lines } = logOf('pretty')
    log.info({ roles: ['api'], of: { a: 1 } }, 'joined')
    expect(lines[0]).toContain('joined  roles=["api"] of={"a":1}\n')
  })

  it.each([
    ['trace', 'trace'],
    ['debug', 'debug'],
    ['info', 'info '],
    ['warn', 'warn '],
    ['error', 'error'],
    ['fatal', 'fatal'],
  ] as const)('names the level %s', (level, shown) => {
    const { log, lines } = logOf('pretty', 'trace')
    log[level]('chime')
    expect(lines[0]?.slice(12)).toBe(` ${shown} chime\n`)
  })

  it('leaves control characters visible and harmless, wherever they stand', () => {
    fc.assert(
      fc.property(hostile, hostile, hostile, hostile, (message, key, value, failure) => {
        const { log, lines } = logOf('pretty')
        log.info({ [`k${key}`]: value, nested: { [key]: [value] }, err: new Error(failure) }, message)
        expect(lines).toHaveLength(1)
        expect(lines[0]?.slice(-1)).toBe('\n')
        expect(lines[0]?.slice(0, -1)).not.toMatch(acting)
      }),
    )
  })

  it('shows what a control character was', () => {
    const { log, lines } = logOf('pretty')
    log.info('a\u001b[31mred\nb')
    expect(lines[0]).toContain('a\\u001b[31mred\\u000ab')
  })

  it.each([
    ['time', 5],
    ['time', null],
    ['level', 'loud'],
    ['level', { deep: true }],
    ['msg', 7],
    ['msg', null],
    ['err', 'only text'],
    ['err', null],
    ['err', { message: 12 }],
    ['err', { code: 'E1' }],
  ])(
    'takes a field named %s with the value %j, as a task may log it, and still says what happened',
    (key, value) => {
      const { log, lines } = logOf('pretty')
      log.info({ [key]: value, kept: 'yes' }, 'what happened')
      log.info({ [key]: value, kept: 'yes' })
      expect(lines).toHaveLength(2)
      expect(lines[0]).toContain('what happened')
      expect(lines[0]).toContain('kept=yes')
      expect(lines[1]).toContain('kept=yes')
    },
  )

  it('keeps an error that has no message', () => {
    const { log, lines } = logOf('pretty')
    log.info({ err: 'only text' }, 'failed')
    expect(lines[0]).toContain('only text')
  })
})

it.each(['json', 'pretty'] as const)('%s keeps lines below its level to itself', (format) => {
  const { log, lines } = logOf(format, 'warn')
  log.info('quiet')
  log.warn('loud')
  expect(lines).toHaveLength(1)
})
