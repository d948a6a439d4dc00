import { CarillonError, errorCatalogue, type ErrorCode, type Problem } from '@carillon/contract'
import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import { httpOptions, MemoryPorts } from '../../test/kit/http-ports.js'
import { createHttpServer } from './server.js'

interface LogLine {
  level: number
  request_id?: string
  err?: { message: string }
}

/** A server whose list of jobs fails as told, and the lines it logs. */
function failingWith(error: unknown) {
  const lines: LogLine[] = []
  const api = new MemoryPorts()
  // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- what is thrown is the test's subject
  api.jobs.list = () => Promise.reject(error)
  const log = pino(
    { level: 'info' },
    { write: (line: string) => void lines.push(JSON.parse(line) as LogLine) },
  )
  return { server: createHttpServer(httpOptions({ api, log })), lines }
}

describe('an error of the catalogue', () => {
  it.each(Object.keys(errorCatalogue) as ErrorCode[])(
    '%s reaches the caller as problem+json',
    async (code) => {
      const errors = [{ pointer: '/a', message: 'is wrong', hint: 'mend it' }]
      const { server } = failingWith(new CarillonError(code, { detail: 'what happened', errors }))
      const answer = await server.inject({ url: '/api/v1/jobs', headers: { 'x-request-id': 'mine' } })
      expect(answer.statusCode).toBe(errorCatalogue[code].status)
      expect(answer.headers['content-type']).toBe('application/problem+json')
      expect(answer.json()).toEqual({
        type: `urn:carillon:error:${code}`,
        title: errorCatalogue[code].title,
        status: errorCatalogue[code].status,
        code,
        detail: 'what happened',
        hint: errorCatalogue[code].hint,
        request_id: 'mine',
        errors,
      })
    },
  )
})

it('a call that gave way to another because of a deadlock is told to come again', async () => {
  const { server } = failingWith(Object.assign(new Error('deadlock detected'), { code: '40P01' }))
  const answer = await server.inject('/api/v1/jobs')
  expect(answer.statusCode).toBe(503)
  expect(answer.headers['retry-after']).toBe('1')
  expect(answer.json()).toMatchObject({ detail: expect.stringContaining('gave way') as string })
})

describe('an unexpected exception', () => {
  it.each([new Error('secret: password=hunter2'), 'a thrown text', undefined, null, { code: 7 }])(
    '%s is told to the log with the request id, and to nobody else',
    async (thrown) => {
      const { server, lines } = failingWith(thrown)
      const answer = await server.inject('/api/v1/jobs')
      const problem = answer.json<Problem>()
      expect(answer.statusCode).toBe(500)
      expect(problem).toMatchObject({ code: 'internal_error', detail: errorCatalogue.internal_error.title })
      expect(answer.body).not.toMatch(/secret|thrown text|at .*\.ts/)
      expect(lines).toEqual([expect.objectContaining({ level: 50, request_id: problem.request_id })])
    },
  )
})

describe('a database that is away', () => {
  it.each([
    Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }),
    Object.assign(new Error('shutting down'), { code: '57P01' }),
    new Error('Connection terminated unexpectedly'),
  ])('%s is 503 with the time to try again', async (error) => {
    const { server, lines } = failingWith(error)
    const answer = await server.inject('/api/v1/jobs')
    expect(answer.statusCode).toBe(503)
    expect(answer.headers['retry-after']).toBe('1')
    expect(answer.json()).toMatchObject({ code: 'database_unavailable' })
    const { request_id: id } = answer.json<Problem>()
    expect(lines).toEqual([expect.objectContaining({ level: 40, request_id: id })])
  })
})

describe('a route that does not exist', () => {
  it.each([
    '/nope',
    '/api/v1',
    '/api/v2/jobs',
    '/%zz',
    '/api/v1/jobs/%E0%A4%A',
    `/api/v1/jobs/${'x'.repeat(5_000)}`,
  ])('GET %s', async (url) => {
    const answer = await createHttpServer(httpOptions()).inject(url)
    expect(answer.statusCode).toBe(404)
    expect(answer.headers['content-type']).toBe('application/problem+json')
    expect(answer.json()).toMatchObject({
      code: 'route_not_found',
      request_id: answer.headers['x-request-id'],
    })
  })

  it.each([
    ['PUT', '/api/v1/jobs', 'GET, HEAD, POST'],
    ['POST', '/api/v1/jobs/job_00000000000000000000000001', 'DELETE, GET, HEAD, PATCH'],
    ['DELETE', '/api/v1/jobs/?limit=1', 'GET, HEAD, POST'],
    ['OPTIONS', '/healthz', 'GET, HEAD'],
  ] as const)('%s %s is told which methods there are', async (method, url, methods) => {
    const answer = await createHttpServer(httpOptions()).inject({ method, url })
    expect(answer.statusCode).toBe(404)
    expect(answer.headers['allow']).toBe(methods)
    expect(answer.json<Problem>().hint).toContain(`This path takes ${methods}.`)
  })
})

describe('the request id', () => {
  it.each(['a', 'trace-1/2:3', '~'.repeat(128)])('%s of the caller is kept', async (id) => {
    const answer = await createHttpServer(httpOptions()).inject({
      url: '/nope',
      headers: { 'x-request-id': id },
    })
    expect(answer.headers['x-request-id']).toBe(id)
    expect(answer.json()).toMatchObject({ request_id: id })
  })

  it.each(['', 'a b', 'é', '~'.repeat(129)])('%j of the caller is replaced', async (id) => {
    const answer = await createHttpServer(httpOptions()).inject({
      url: '/healthz',
      headers: { 'x-request-id': id },
    })
    expect(answer.headers['x-request-id']).toMatch(/^req_[0-9a-f]{32}$/)
  })

  it('is a new one for every request', async () => {
    const server = createHttpServer(httpOptions())
    const ids = await Promise.all(
      [1, 2, 3].map(async () => (await server.inject('/healthz')).headers['x-request-id']),
    )
    expect(new Set(ids).size).toBe(3)
  })
})
