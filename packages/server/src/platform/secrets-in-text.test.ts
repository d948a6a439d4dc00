import { describe, expect, it } from 'vitest'
import { createLog } from './log.js'
import { withoutSecrets } from './secrets-in-text.js'

const key = `car_${'k'.repeat(43)}`

describe('a text', () => {
  it.each([
    ['a key', `the key ${key} is unknown`, 'the key car_… is unknown'],
    ['a signing secret', 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'whsec_…'],
    ['a bearer token', '{"authorization":"Bearer abc.def-ghi"}', '{"authorization":"Bearer …"}'],
    ['a basic one', 'authorization: basic dXNlcjpwYXNz', 'authorization: basic …'],
    ['the password of a database', 'postgres://carillon:hunter2@db:5432/x', 'postgres://…@db:5432/x'],
    ['a password with an @', 'postgres://user:pa@ss@host/x?mail=a@b', 'postgres://…@host/x?mail=a@b'],
    ['the passwords of two', 'postgres://a:b@c/,http://d:e@f@g', 'postgres://…@c/,http://…@g'],
    ['a password after dots', 'connecting...postgres://a:b@c', 'connecting...postgres://…@c'],
    ['a user alone', 'https://ghp_token@example.com/', 'https://…@example.com/'],
    ['a token of a query', 'GET /hook?a=1&access_token=abc123&b=2', 'GET /hook?a=1&access_token=…&b=2'],
    ['an X-Amz-Signature', '/o?X-Amz-Signature=deadbeef#x', '/o?X-Amz-Signature=…#x'],
    ['a key of a query', '/o?key=abc', '/o?key=…'],
    ['several', `${key} and postgres://a:b@c and ?token=d`, 'car_… and postgres://…@c and ?token=…'],
  ])('loses %s', (_what, text, safe) => {
    expect(withoutSecrets(text)).toBe(safe)
  })

  it.each([
    'job_01hzy and run_01hzy at https://example.com/hook?page=2&monkey=1',
    'a basic truth: tokens only grow',
    'mail to someone@example.com',
    'car_short',
  ])('keeps what is none: %s', (text) => {
    expect(withoutSecrets(text)).toBe(text)
  })
})

it.each([
  ['a.', '://'],
  ['a://', 'b'],
  ['?a', '='],
  ['://@', ' '],
])('a long text of %s costs no more than its length', (part, end) => {
  const costOf = (length: number) => {
    const text = part.repeat(length / part.length) + end
    const begun = performance.now()
    withoutSecrets(text)
    return performance.now() - begun
  }
  costOf(10_000)
  // What costs the square takes a quarter of a minute for this.
  expect(costOf(160_000)).toBeLessThan(4_000)
})

describe.each(['json', 'pretty'] as const)('a %s log', (format) => {
  function lines(write: (log: ReturnType<typeof createLog>) => void): string {
    let text = ''
    write(createLog({ level: 'debug', format }, (line) => (text += line)))
    return text
  }

  it('has no secret, wherever one was put', () => {
    const url = 'postgres://carillon:canary-1@db/x'
    const text = lines((log) => {
      const error = Object.assign(new Error(`cannot connect to ${url}`), { config: { password: 'x', url } })
      log.error(
        { err: error, headers: { authorization: 'Bearer canary-2' }, url: '/a?token=canary-3' },
        'failed',
      )
      log.child({ caller: key }).info(`whsec_canary4canary4canary4`)
      log.info({ deep: { er: [{ url: 'https://user:canary-5@example.com/' }] } })
    })
    expect(text).not.toMatch(/canary|kkkk/)
    expect(text.trimEnd().split('\n')).toHaveLength(3)
    if (format === 'json')
      for (const line of text.trimEnd().split('\n')) expect(() => JSON.parse(line) as unknown).not.toThrow()
  })

  it('is one line for one event, without escape codes, whatever a name holds', () => {
    const name = 'a\n2026-11-16 info forged\r\n\u001b[31mred\u0007\u009b2J\u2028next'
    const text = lines((log) => log.warn({ job: name, [name]: 1 }, name))
    expect(text.trimEnd().split(/\r|\n/)).toHaveLength(1)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
    expect(text.trimEnd()).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/)
  })
})
