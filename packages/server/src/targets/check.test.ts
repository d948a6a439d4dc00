import {
  CarillonError,
  type CommandTarget,
  type FieldProblem,
  type HttpTarget,
  type Target,
} from '@carillon/contract'
import { expect, test } from 'vitest'
import { createAddressGuard } from './address-guard.js'
import { checkTarget } from './check.js'

const strict = createAddressGuard({ allowedNetworks: [], allowLoopback: false })
const local = createAddressGuard({ allowedNetworks: [], allowLoopback: true })

function problems(target: Target | CommandTarget, guard = strict): readonly FieldProblem[] {
  try {
    checkTarget(target, guard)
    return []
  } catch (error) {
    if (!(error instanceof CarillonError)) throw error
    expect(error.code).toBe('invalid_target')
    expect(error.message).toBe(error.errors[0]?.message)
    return error.errors
  }
}

const url = (text: string): Target => ({ type: 'http', url: text })
const headers = (given: Record<string, string>): Target => ({
  type: 'http',
  url: 'https://example.com/',
  headers: given,
})

test.each([
  'https://example.com/hook?a=b',
  'http://example.com:8080',
  'HTTPS://EXAMPLE.com/',
  'http://8.8.8.8/',
  'http://bücher.example/é',
])('the URL %s is taken', (text) => {
  expect(problems(url(text))).toEqual([])
})

test.each([
  ['', 'cannot be read'],
  ['/hook', 'cannot be read'],
  ['http://', 'cannot be read'],
  ['http://a b/', 'space or control character'],
  ['http://example.com/\nx', 'space or control character'],
  ['ftp://example.com/', 'scheme "ftp"'],
  ['file:///etc/passwd', 'scheme "file"'],
  ['http:example.com', 'names no host'],
  ['http:///example.com', 'names no host'],
  ['http://user@example.com/', 'user name or password'],
  ['http://user:pw@example.com/', 'user name or password'],
  ['http://:pw@example.com/', 'user name or password'],
])('the URL %j is refused: %s', (text, message) => {
  const [problem, ...more] = problems(url(text))
  expect(problem?.pointer).toBe('/target/url')
  expect(problem?.message).toContain(message)
  expect(problem?.hint).toBeTruthy()
  expect(more).toEqual([])
})

const loopbacks = [
  '127.0.0.1',
  '2130706433',
  '0x7f.1',
  '0177.1',
  '127.0.0.1.',
  '[::1]',
  '[::ffff:127.0.0.1]',
  'localhost',
  'LOCALHOST.',
  'api.localhost',
]
test.each(loopbacks)('the host %s is refused unless loopback is allowed', (host) => {
  const [problem] = problems(url(`http://${host}:1234/`))
  expect(problem).toMatchObject({ pointer: '/target/url' })
  expect(problem?.message).toMatch(/is a loopback address|IPv4-mapped IPv6 address \(of 127\.0\.0\.1\)/)
  expect(problem?.hint).toContain('CARILLON_ALLOWED_NETWORKS')
  expect(problems(url(`http://${host}:1234/`), local)).toEqual([])
})

test('localhost is taken when one of its addresses is permitted', () => {
  const guard = createAddressGuard({ allowedNetworks: ['127.0.0.0/8'], allowLoopback: false })
  expect(problems(url('http://localhost/'), guard)).toEqual([])
})

test('a name that only contains "localhost" is left to the check at delivery', () => {
  expect(problems(url('http://localhost.example.com/'))).toEqual([])
  expect(problems(url('http://notlocalhost/'))).toEqual([])
})

test('headers that HTTP can carry are taken', () => {
  expect(
    problems(headers({ Authorization: 'Bearer a.b-c', 'x-tab': 'a\tb', 'x-latin': 'é', 'x-empty': '' })),
  ).toEqual([])
})

test.each([
  [{ 'x a': '1' }, '/target/headers/x a', 'not a header name'],
  [{ 'X-Ünsent': '1' }, '/target/headers/X-Ünsent', 'not a header name'],
  [{ '': '1' }, '/target/headers/', 'not a header name'],
  [{ 'x:y': '1' }, '/target/headers/x:y', 'not a header name'],
  [{ 'x/~y': '1' }, '/target/headers/x~1~0y', 'not a header name'],
  [{ 'x\r\ny': '1' }, '/target/headers/x\r\ny', 'not a header name'],
  [{ 'x-a': 'b\r\nx-c: d' }, '/target/headers/x-a', 'cannot carry'],
  [{ 'x-a': 'b\nc' }, '/target/headers/x-a', 'cannot carry'],
  [{ 'x-a': 'b\0' }, '/target/headers/x-a', 'cannot carry'],
  [{ 'x-a': 'Ж' }, '/target/headers/x-a', 'cannot carry'],
  [{ 'X-A': '1', 'x-a': '2' }, '/target/headers/x-a', 'given twice'],
])('the headers %j are refused at %s', (given, pointer, message) => {
  const [problem, ...more] = problems(headers(given))
  expect(problem?.pointer).toBe(pointer)
  expect(problem?.message).toContain(message)
  expect(more).toEqual([])
})

test.each([
  'Carillon-Run-Id',
  'CARILLON-anything',
  'idempotency-key',
  'Host',
  'content-length',
  'Connection',
  'Transfer-Encoding',
  'te',
  'Upgrade',
  'Expect',
  'Accept-Encoding',
  'Webhook-Signature',
  'webhook-id',
  'TraceParent',
])('a job may not set the header %s', (name) => {
  expect(problems(headers({ [name]: 'x' }))).toMatchObject([{ pointer: `/target/headers/${name}` }])
})

test('more than 50 headers are refused', () => {
  const many = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`x-${index}`, '']))
  expect(problems(headers(many(50)))).toEqual([])
  expect(problems(headers(many(51)))).toMatchObject([{ pointer: '/target/headers' }])
})

test('all problems are told at once', () => {
  const target: Target = { type: 'http', url: 'ftp://x/', headers: { host: 'x', 'x-a': '\n' } }
  expect(problems(target).map(({ pointer }) => pointer)).toEqual([
    '/target/url',
    '/target/headers/host',
    '/target/headers/x-a',
  ])
})

test('a task target is taken', () => {
  expect(problems({ type: 'task', task: 'report' })).toEqual([])
})

const http = (more: Partial<HttpTarget>): Target => ({ type: 'http', url: 'https://example.com/', ...more })

test('a body template, success codes and redirects are taken', () => {
  expect(
    problems(
      http({ body: { a: '{{payload}}' }, success_codes: [204, '2xx', '400-404'], follow_redirects: 5 }),
    ),
  ).toEqual([])
})

test.each([
  [http({ body: { a: ['{{nonsense}}'] } }), '/target/body/a/0', 'not a variable'],
  [http({ body: '{{run_id' }), '/target/body', 'not closed'],
  [http({ method: 'GET', body: 'x' }), '/target/body', 'A GET is sent without a body'],
  [http({ method: 'DELETE', body: null }), '/target/body', 'A DELETE is sent without a body'],
  [http({ success_codes: [200, 42] }), '/target/success_codes/1', '42 names no final status'],
  [http({ success_codes: ['1xx'] }), '/target/success_codes/0', '"1xx" names no final status'],
] as const)('%j is refused at %s', (target, pointer, message) => {
  const [problem, ...more] = problems(target)
  expect(problem?.pointer).toBe(pointer)
  expect(problem?.message).toContain(message)
  expect(problem?.hint).toBeTruthy()
  expect(more).toEqual([])
})

const command = (more: Omit<CommandTarget, 'type'>): CommandTarget => ({ type: 'command', ...more })

test('a command as argv or as a shell line is taken', () => {
  expect(
    problems(command({ argv: ['/bin/true', '', 'a b'], env: { A_1: 'x', _b: '' }, cwd: '/srv' })),
  ).toEqual([])
  expect(problems(command({ shell: 'true | true' }))).toEqual([])
})

test.each([
  [command({}), '/target', 'missing'],
  [command({ argv: ['a'], shell: 'a' }), '/target', 'both given'],
  [command({ argv: [''] }), '/target/argv/0', 'no name'],
  [command({ argv: ['a', 'b\0c'] }), '/target/argv/1', 'NUL'],
  [command({ shell: 'a\0' }), '/target/shell', 'NUL'],
  [command({ shell: 'a', env: { 'A=B': 'x' } }), '/target/env/A=B', 'not a name'],
  [command({ shell: 'a', env: { '': 'x' } }), '/target/env/', 'not a name'],
  [command({ shell: 'a', env: { '1/A': 'x' } }), '/target/env/1~1A', 'not a name'],
  [command({ shell: 'a', env: { A: '\0' } }), '/target/env/A', 'NUL'],
  [command({ shell: 'a', env: { CARILLON_RUN_ID: 'x' } }), '/target/env/CARILLON_RUN_ID', 'set by Carillon'],
  [command({ shell: 'a', env: { traceparent: 'x' } }), '/target/env/traceparent', 'set by Carillon'],
  [command({ shell: 'a', cwd: 'srv' }), '/target/cwd', 'absolute'],
  [command({ shell: 'a', cwd: '/a\0' }), '/target/cwd', 'NUL'],
] as const)('the command %j is refused at %s', (target, pointer, message) => {
  const [problem, ...more] = problems(target)
  expect(problem?.pointer).toBe(pointer)
  expect(problem?.message).toContain(message)
  expect(problem?.hint).toBeTruthy()
  expect(more).toEqual([])
})
