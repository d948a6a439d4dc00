import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { attempt } from '../../test/kit/local-target.js'
import { BodyTemplateError, BodyTooLargeError, parseBody } from './body-template.js'

const payload = { to: 'Ana "A"', deep: { list: [1, { x: true }] }, none: null, n: 2.5 }
const render = (body: unknown, given: unknown = payload) =>
  parseBody(body)
    .render({ ...attempt, payload: given })
    .toString()

function refusal(body: unknown): BodyTemplateError {
  try {
    parseBody(body)
  } catch (error) {
    if (error instanceof BodyTemplateError) return error
    throw error
  }
  throw new Error('the body was taken')
}

describe('a JSON body', () => {
  it('has each variable as its value, with its type', () => {
    const body = {
      all: '{{payload}}',
      to: '{{payload.to}}',
      first: '{{payload.deep.list.0}}',
      x: '{{ payload.deep.list.1.x }}',
      none: '{{payload.none}}',
      run: '{{run_id}}',
      job: ['{{job_id}}', '{{job_name}}'],
      at: '{{scheduled_at}}',
      unix: '{{scheduled_at_unix}}',
      attempt: '{{attempt}}',
      token: '{{fencing_token}}',
      late: '{{catch_up}}',
      key: '{{idempotency_key}}',
      fixed: 5,
      nothing: null,
    }
    expect(JSON.parse(render(body))).toEqual({
      all: payload,
      to: 'Ana "A"',
      first: 1,
      x: true,
      none: null,
      run: 'run_1',
      job: ['job_1', 'weekly report'],
      at: '2026-01-05T09:00:00Z',
      unix: 1_767_603_600,
      attempt: 2,
      token: 77,
      late: false,
      key: 'job_1:1767603600',
      fixed: 5,
      nothing: null,
    })
    expect(parseBody(body).contentType).toBe('application/json')
  })

  it('has a variable amid text as text', () => {
    expect(
      JSON.parse(render({ text: 'For {{payload.to}}: {{payload.n}} of {{payload.deep.list}}' })),
    ).toEqual({
      text: 'For Ana "A": 2.5 of [1,{"x":true}]',
    })
  })

  it('has null for what the payload has not, and nothing for it amid text', () => {
    expect(
      JSON.parse(render({ a: '{{payload.no.such}}', b: '[{{payload.no}}]', c: '{{payload.to.x}}' })),
    ).toEqual({ a: null, b: '[]', c: null })
  })

  it.each(['constructor', '__proto__', 'toString', 'to.length', 'deep.list.push'])(
    'reaches nothing that the payload has not itself: %s',
    (path) => {
      expect(render([`{{payload.${path}}}`])).toBe('[null]')
    },
  )

  it('cannot be broken out of, nor made to read a value as a template', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.string(), (value, text) => {
        const given = { value, text, trick: '{{run_id}}' }
        const out: unknown = JSON.parse(
          render({ v: '{{payload.value}}', t: '<{{payload.text}}>', k: '{{payload.trick}}' }, given),
        )
        const expected = { v: value, t: `<${text}>`, k: '{{run_id}}' }
        expect(out).toEqual(JSON.parse(JSON.stringify(expected)))
      }),
    )
  })

  it('keeps a field named __proto__ as a field', () => {
    expect(render(JSON.parse('{"__proto__":"{{attempt}}"}'))).toBe('{"__proto__":2}')
  })
})

describe('a text body', () => {
  it('has strings as they are and everything else as JSON', () => {
    expect(render('to={{payload.to}}&n={{payload.n}}&x={{payload.none}}&y={{payload.gone}}')).toBe(
      'to=Ana "A"&n=2.5&x=null&y=',
    )
    expect(parseBody('x').contentType).toBe('text/plain; charset=utf-8')
  })

  it('may be JSON in its own braces', () => {
    expect(JSON.parse(render('{"a":{"b":{{payload}}}}'))).toEqual({ a: { b: payload } })
    expect(render('{{{attempt}}}')).toBe('{2}')
  })

  it('is UTF-8, with halves of characters replaced', () => {
    expect(parseBody('día \ud800').render(attempt)).toEqual(Buffer.from('día \ufffd'))
  })
})

describe('a body that cannot be read is refused', () => {
  it.each([
    [{ a: [{ 'b/c': '{{runid}}' }] }, '/a/0/b~1c', '{{runid}} is not a variable', 'Did you mean {{run_id}}?'],
    ['{{}}', '', '{{}} is not a variable', 'Variables: {{payload}}'],
    ['{{payload.}}', '', 'not a variable', ''],
    ['{{payload..a}}', '', 'not a variable', ''],
    ['{{run_id.x}}', '', 'not a variable', ''],
    ['{{constructor}}', '', 'not a variable', ''],
    ['a {{run_id', '', '"{{" is not closed', '{{run_id}}'],
    ['{{ {{run_id}} }}', '', '"{{" is not closed', ''],
    [{ '{{run_id}}': 1 }, '/{{run_id}}', 'has a variable in it', 'values only'],
    [Array.from({ length: 101 }, () => '{{attempt}}'), '/100', 'more than 100 variables', '{{payload}} once'],
  ])('%j', (body, pointer, message, hint) => {
    const found = refusal(body)
    expect(found.pointer).toBe(pointer)
    expect(found.message).toContain(message)
    expect(found.hint).toContain(hint)
  })
})

it('a body that would become huge is given up before it is written', () => {
  const given = 'x'.repeat(1_000_000)
  for (const body of [{ a: Array.from({ length: 100 }, () => '{{payload}}') }, '{{payload}}'.repeat(100)]) {
    expect(() => render(body, given)).toThrow(BodyTooLargeError)
  }
  expect(render(['{{payload}}'], given)).toHaveLength(1_000_004)
  // Four bytes a character: counted in bytes in the end.
  expect(() => render(['{{payload}}'], '✓'.repeat(3_000_000))).toThrow(BodyTooLargeError)
})

it('a body that becomes too large is not written further than its bound', () => {
  let written = 0
  const given = { toJSON: () => (written++, 'x'.repeat(1_000_000)) }
  for (const body of [Array.from({ length: 100 }, () => '{{payload}}'), '{{payload}}'.repeat(100)]) {
    written = 0
    expect(() => render(body, given)).toThrow(BodyTooLargeError)
    expect(written).toBeLessThan(10)
  }
})
