import { limits, type Problem } from '@carillon/contract'
import { describe, expect, it } from 'vitest'
import { httpOptions, MemoryPorts } from '../../test/kit/http-ports.js'
import { createHttpServer } from './server.js'

const maxBodyBytes = 64 * 1024
const json = { 'content-type': 'application/json' }
const valid = '"name":"a","schedule":"@every 5m"'

async function post(payload: string | Buffer, headers: Record<string, string> = json) {
  const ports = new MemoryPorts()
  const server = createHttpServer(httpOptions({ api: ports, maxBodyBytes }))
  const answer = await server.inject({ method: 'POST', url: '/api/v1/jobs', headers, payload })
  expect(ports.created).toEqual([])
  expect(answer.headers['content-type']).toBe('application/problem+json')
  const problem = answer.json<Problem>()
  expect(problem.status).toBe(answer.statusCode)
  expect(problem.request_id).toBe(answer.headers['x-request-id'])
  expect(problem.type).toBe(`urn:carillon:error:${problem.code}`)
  return problem
}

describe('a body that is no JSON', () => {
  it.each([
    ['', 'The body is empty.'],
    [' \n', 'Line 2, column 1: expected a value, found the end of the body.'],
    ['{"name":}', 'Line 1, column 9: expected a value, found "}".'],
    ['{\n  "name": "a",\n}', 'Line 3, column 1: expected a field name in double quotes, found "}".'],
    ["{'name':1}", 'Line 1, column 2: expected a field name in double quotes or "}", found "\'".'],
    ['{"a":1} x', 'Line 1, column 9: expected nothing more after the value, found "x".'],
    ['{"a":"b\n"}', 'Line 1, column 8: a line break or control character in a text must be escaped.'],
    ['{"a":"b', 'Line 1, column 6: the text that begins here is not closed with a double quote.'],
    ['{"a":01}', 'Line 1, column 6: expected a value, found "0".'],
    ['{"a":NaN}', 'Line 1, column 6: expected a value, found "N".'],
    ['[1', 'Line 1, column 3: expected "," or the end of the array or object, found the end of the body.'],
  ])('%j is refused with the place', async (body, detail) => {
    expect(await post(body)).toMatchObject({ status: 400, code: 'malformed_json', detail })
  })

  it('is refused when it is not UTF-8', async () => {
    const latin1 = Buffer.from(`{${valid},"payload":"\xe9"}`, 'latin1')
    expect(await post(latin1)).toMatchObject({
      code: 'malformed_json',
      detail: 'The body is not valid UTF-8.',
    })
  })

  it('is refused when there is no body at all', async () => {
    expect(await post('', {})).toMatchObject({
      status: 400,
      code: 'malformed_json',
      detail: 'The body is empty.',
    })
  })
})

describe('a body of another kind', () => {
  it.each([
    ['text/plain', 'text/plain'],
    ['application/x-www-form-urlencoded', 'x-www-form-urlencoded'],
    ['application/jsonx', 'jsonx'],
    ['application/json; charset=utf-16', 'utf-16'],
    ['nonsense', 'nonsense'],
  ])('%s is not understood', async (contentType, named) => {
    const problem = await post(`{${valid}}`, { 'content-type': contentType })
    expect(problem).toMatchObject({ status: 415, code: 'unsupported_media_type' })
    expect(problem.detail).toContain(named)
  })

  it('without a Content-Type is not understood', async () => {
    expect(await post(`{${valid}}`, {})).toMatchObject({ status: 415, code: 'unsupported_media_type' })
  })

  it.each(['gzip', 'br', 'deflate', 'GZIP, identity'])(
    'in the encoding %s is not understood',
    async (encoding) => {
      const problem = await post(`{${valid}}`, { ...json, 'content-encoding': encoding })
      expect(problem).toMatchObject({ status: 415, code: 'unsupported_media_type' })
      expect(problem.detail).toContain(encoding)
    },
  )

  it('that is larger than the limit is refused with the limit', async () => {
    const body = `{${valid},"payload":"${'x'.repeat(maxBodyBytes)}"}`
    expect(await post(body)).toMatchObject({
      status: 413,
      code: 'body_too_large',
      detail: `The body has more than ${maxBodyBytes} bytes.`,
    })
  })
})

describe('a value that could not be kept', () => {
  const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`
  it.each([
    ['NUL in a text', `{${valid},"payload":["a\\u0000b"]}`, '/payload/0', 'NUL'],
    ['NUL in a name', `{${valid},"payload":{"a":{"\\u0000":1}}}`, '/payload/a', 'NUL'],
    ['half a surrogate pair', `{${valid},"payload":{"~/":"\\ud83d"}}`, '/payload/~0~1', 'surrogate'],
    ['the second half alone', `{"name":"\\udc00","schedule":"x"}`, '/name', 'surrogate'],
    ['half a surrogate pair in a name', `{${valid},"payload":{"\\ud800":1}}`, '/payload', '"\\ud800"'],
    ['a number beyond all numbers', `{${valid},"payload":1e999}`, '/payload', 'too large'],
    ['a negative one', `{${valid},"payload":[-1e999]}`, '/payload/0', 'too large'],
    ['__proto__', `{${valid},"payload":{"__proto__":{"polluted":1}}}`, '/payload/__proto__', 'refused'],
    ['__proto__ by escapes', `{${valid},"\\u005f_proto__":{"polluted":1}}`, '/__proto__', 'refused'],
    [
      'constructor',
      `{${valid},"payload":{"constructor":{"prototype":{}}}}`,
      '/payload/constructor',
      'refused',
    ],
    ['too many levels', `{${valid},"payload":${nested(limits.jsonDepth)}}`, '/payload/0', '64 levels'],
    ['a body of nothing but brackets', nested(30_000), '/0/0/0', '64 levels'],
  ])('%s is refused with its place', async (_what, body, pointer, said) => {
    const problem = await post(body)
    expect(problem).toMatchObject({ status: 422, code: 'validation_failed' })
    expect(problem.errors[0]?.pointer).toMatch(new RegExp(`^${pointer.replace(/[/~]/g, '\\$&')}`))
    expect(problem.errors[0]?.message).toContain(said)
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  })

  it('is not confused with what only looks like it', async () => {
    const server = createHttpServer(httpOptions())
    const payload = `{${valid},"payload":{"a":"\\\\u0000","b":"\\ud83d\\ude00","c":"__proto__","d":${nested(limits.jsonDepth - 2)}}}`
    const answer = await server.inject({ method: 'POST', url: '/api/v1/jobs', headers: json, payload })
    expect(answer.statusCode).toBe(201)
  })
})

describe('a field that is not accepted', () => {
  it.each([
    ['{"schedule":"x"}', '/name', 'is required'],
    ['{"name":1,"schedule":"x"}', '/name', 'must be a string, got 1'],
    ['{"name":"","schedule":"x"}', '/name', 'must not be empty'],
    ['{"name":null,"schedule":"x"}', '/name', 'must be a string, got null'],
    [`{${valid},"max_retries":"x"}`, '/max_retries', 'must be an integer from 0 to 100, got "x"'],
    [`{${valid},"max_retries":"3"}`, '/max_retries', 'must be an integer from 0 to 100, got "3"'],
    [`{${valid},"max_retries":-1}`, '/max_retries', 'must be an integer from 0 to 100, got -1'],
    [`{${valid},"max_retries":1.5}`, '/max_retries', 'must be an integer from 0 to 100, got 1.5'],
    [`{${valid},"max_missed":1e300}`, '/max_missed', 'must be an integer from 1 to 1000, got 1e+300'],
    [`{${valid},"timeout_seconds":true}`, '/timeout_seconds', 'must be an integer from 1 to 86400, got true'],
    [
      `{${valid},"missed_window":"skip"}`,
      '/missed_window',
      'must be one of "SKIP", "RUN_ONCE", "RUN_ALL", got "skip"',
    ],
    [`{${valid},"timezone":["UTC"]}`, '/timezone', 'must be a string, got an array'],
    [`{${valid},"target":"http"}`, '/target', 'must be an object, got "http"'],
    [`{${valid},"target":null}`, '/target', 'must be an object, got null'],
    [`{${valid},"target":{}}`, '/target/type', 'is required: one of "http", "task", "command"'],
    [
      `{${valid},"target":{"type":"kafka"}}`,
      '/target/type',
      'must be one of "http", "task", "command", got "kafka"',
    ],
    [`{${valid},"target":{"type":7}}`, '/target/type', 'must be one of "http", "task", "command", got 7'],
    [`{${valid},"target":{"type":"http"}}`, '/target/url', 'is required'],
    [`{${valid},"target":{"type":"task","task":""}}`, '/target/task', 'must not be empty'],
    [
      `{${valid},"target":{"type":"http","url":"http://a","headers":{"a\\nb":5}}}`,
      '/target/headers/a\nb',
      'must be a string, got 5',
    ],
    [
      `{${valid},"target":{"type":"http","url":"http://a","headers":["x"]}}`,
      '/target/headers',
      'must be an object, got an array',
    ],
    ['[]', '', 'must be an object, got an array'],
    ['"text"', '', 'must be an object, got "text"'],
    ['null', '', 'must be an object, got null'],
  ])('%s', async (body, pointer, message) => {
    const problem = await post(body)
    expect(problem).toMatchObject({ status: 422, code: 'validation_failed' })
    expect(problem.errors).toEqual([expect.objectContaining({ pointer, message })])
    expect(problem.detail).toBe(`${pointer || 'The body'} ${message}`)
  })

  it('does not stop at the first fault: one entry for each field', async () => {
    const problem = await post('{"name":"","max_retries":101,"retry_backoff":1}')
    expect(problem.errors.map(({ pointer }) => pointer).sort()).toEqual([
      '/max_retries',
      '/name',
      '/retry_backoff',
      '/schedule',
    ])
    expect(problem.detail).toMatch(/and 3 more/)
  })
})

describe('a field that is not known', () => {
  it.each([
    [`{${valid},"timezon":"UTC"}`, '/timezon', 'Did you mean timezone?'],
    [`{${valid},"maxRetries":1}`, '/maxRetries', 'Did you mean max_retries?'],
    [`{${valid},"retries":1}`, '/retries', 'Did you mean max_retries?'],
    [`{${valid},"a/b~c":1}`, '/a~1b~0c', 'Known here: name, description, tags'],
    [`{${valid},"":1}`, '/', 'Known here: name'],
    [`{${valid},"target":{"type":"task","task":"a","url":"b"}}`, '/target/url', 'Known here: type, task.'],
    [`{${valid},"target":{"type":"http","url":"b","metod":"PUT"}}`, '/target/metod', 'Did you mean method?'],
  ])('%s', async (body, pointer, hint) => {
    const problem = await post(body)
    expect(problem).toMatchObject({ status: 422, code: 'unknown_field' })
    expect(problem.errors).toHaveLength(1)
    expect(problem.errors[0]).toMatchObject({ pointer, message: 'is not a known field' })
    expect(problem.errors[0]?.hint).toContain(hint)
  })

  it('comes before the field that its misspelling leaves out', async () => {
    const problem = await post('{"nmae":"a","schedule":"x"}')
    expect(problem.code).toBe('unknown_field')
    expect(problem.errors.map(({ pointer }) => pointer)).toEqual(['/nmae', '/name'])
  })

  it('is repeated, however long or often it was sent, only to a bound', async () => {
    const many = Array.from({ length: 3_000 }, (_, index) => `"x${index}":1`).join()
    const problems = [await post(`{${valid},${many}}`), await post(`{${valid},"${'y'.repeat(50_000)}":1}`)]
    for (const problem of problems) expect(JSON.stringify(problem).length).toBeLessThan(25_000)
  })
})

describe('a query that is not accepted', () => {
  it.each([
    ['limit=0', 'query:limit', 'must be an integer from 1 to 200, got 0'],
    ['limit=201', 'query:limit', 'must be an integer from 1 to 200, got 201'],
    ['limit=-1', 'query:limit', 'must be an integer from 1 to 200, got -1'],
    ['limit=ten', 'query:limit', 'must be an integer from 1 to 200, got "ten"'],
    ['limit=1e1', 'query:limit', 'must be an integer from 1 to 200, got "1e1"'],
    ['limit=', 'query:limit', 'must be an integer from 1 to 200, got ""'],
    ['limit=1&limit=2', 'query:limit', 'must be an integer from 1 to 200, got an array'],
    [
      'limit=99999999999999999999',
      'query:limit',
      'must be an integer from 1 to 200, got "99999999999999999999"',
    ],
    ['cursor=', 'query:cursor', 'must not be empty'],
  ])('?%s', async (query, pointer, message) => {
    const server = createHttpServer(httpOptions())
    const answer = await server.inject(`/api/v1/jobs?${query}`)
    expect(answer.statusCode).toBe(422)
    expect(answer.json()).toMatchObject({ code: 'validation_failed', errors: [{ pointer, message }] })
  })

  it.each([
    ['limt=5', 'query:limt', 'Did you mean limit?'],
    [
      '__proto__=1',
      'query:__proto__',
      'Known here: search, tag, state, target, managed_by, order, limit, cursor.',
    ],
  ])('?%s names what is not known', async (query, pointer, hint) => {
    const server = createHttpServer(httpOptions())
    const answer = await server.inject(`/api/v1/jobs?${query}`)
    expect(answer.json()).toMatchObject({ code: 'unknown_field', errors: [{ pointer, hint }] })
  })
})
