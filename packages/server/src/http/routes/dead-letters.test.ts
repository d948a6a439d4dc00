import { describe, expect, it } from 'vitest'
import { letterOf } from '../../../test/kit/dead-letters-port.js'
import { httpOptions, MemoryPorts } from '../../../test/kit/http-ports.js'
import { createHttpServer } from '../server.js'

function setUp() {
  const ports = new MemoryPorts()
  const letter = letterOf(1)
  ports.deadLetters.stored.set(letter.run_id, letter)
  const server = createHttpServer(httpOptions({ api: ports }))
  const send = (method: 'GET' | 'POST' | 'DELETE', path: string, payload?: object) =>
    server.inject({ method, url: `/api/v1${path}`, ...(payload !== undefined && { payload }) })
  return { letters: ports.deadLetters, runId: letter.run_id, letter, send }
}

describe('GET /api/v1/dead-letters', () => {
  it('lists them, narrowed to a job and an error, page by page', async () => {
    const { letters, runId, send } = setUp()
    const answer = await send('GET', '/dead-letters?job_id=job_1&fingerprint=00000000deadbeef&limit=7')
    expect(answer.statusCode).toBe(200)
    expect(answer.json()).toMatchObject({
      data: [{ run_id: runId, reason: 'task_error' }],
      next_cursor: null,
    })
    expect(letters.asked).toEqual([
      { list: { job_id: 'job_1', fingerprint: '00000000deadbeef', limit: 7, cursor: null } },
    ])
  })

  it('refuses a filter that it does not know', async () => {
    const { send } = setUp()
    const answer = await send('GET', '/dead-letters?job=x')
    expect(answer.statusCode).toBe(422)
    expect(answer.json()).toMatchObject({ code: 'unknown_field', errors: [{ pointer: 'query:job' }] })
  })

  it('groups them by their errors', async () => {
    const { letters, send } = setUp()
    expect((await send('GET', '/dead-letters/groups?job_id=job_1')).json()).toEqual({ data: [] })
    expect(letters.asked).toEqual([{ groups: { job_id: 'job_1' } }])
  })

  it('shows one in full, and says where to look when there is none', async () => {
    const { runId, letter, send } = setUp()
    expect((await send('GET', `/dead-letters/${runId}`)).json()).toEqual(letter)
    const missing = await send('GET', '/dead-letters/run_none')
    expect(missing.statusCode).toBe(404)
    expect(missing.json()).toMatchObject({
      code: 'dead_letter_not_found',
      hint: expect.stringContaining('/api/v1/runs/') as string,
    })
  })
})

describe('POST /api/v1/dead-letters/{run_id}/redrive', () => {
  it('needs no body', async () => {
    const { letters, runId, send } = setUp()
    const answer = await send('POST', `/dead-letters/${runId}/redrive`)
    expect(answer.statusCode).toBe(202)
    expect(answer.json()).toMatchObject({ run_id: runId, status: 'pending' })
    expect(letters.asked).toEqual([{ redrive: runId, input: {} }])
    expect((await send('POST', `/dead-letters/${runId}/redrive`)).statusCode).toBe(404)
  })

  it.each([{ payload: { n: 2 } }, { payload: null }, { payload: 'text', version: 'current' }])(
    'hands over %j as it is',
    async (input) => {
      const { letters, runId, send } = setUp()
      expect((await send('POST', `/dead-letters/${runId}/redrive`, input)).statusCode).toBe(202)
      expect(letters.asked).toEqual([{ redrive: runId, input }])
    },
  )

  it.each([
    [{ payloda: 1 }, '/payloda'],
    [{ version: 3 }, '/version'],
  ])('refuses %j by name, and leaves the letter', async (input, pointer) => {
    const { letters, runId, send } = setUp()
    const answer = await send('POST', `/dead-letters/${runId}/redrive`, input)
    expect(answer.statusCode).toBe(422)
    expect(answer.json()).toMatchObject({ errors: [{ pointer }] })
    expect(letters.stored.size).toBe(1)
  })
})

describe('POST /api/v1/dead-letters/redrive', () => {
  it('begins a re-drive of all that match, at a pace, behind a canary', async () => {
    const { send } = setUp()
    const filter = {
      job_id: 'job_1',
      fingerprint: '00000000deadbeef',
      after: '2026-11-01T00:00:00Z',
      per_second: 0.5,
      canary: 2,
    }
    const answer = await send('POST', '/dead-letters/redrive', filter)
    expect(answer.statusCode).toBe(202)
    expect(answer.json()).toMatchObject({ redrive: 1, state: 'running', per_second: 0.5, canary: 2 })
    expect((await send('GET', '/redrives')).json()).toMatchObject({ data: [{ redrive: 1 }] })
    expect((await send('GET', '/redrives/1')).json()).toMatchObject({ redrive: 1 })
  })

  it.each([
    [{ per_second: 0 }, '/per_second'],
    [{ per_second: 1e9 }, '/per_second'],
    [{ canary: -1 }, '/canary'],
    [{ canary: 1.5 }, '/canary'],
    [{ jobid: 'x' }, '/jobid'],
  ])('refuses %j', async (filter, pointer) => {
    const { letters, send } = setUp()
    const answer = await send('POST', '/dead-letters/redrive', filter)
    expect(answer.statusCode).toBe(422)
    expect(answer.json()).toMatchObject({ errors: [{ pointer }] })
    expect(letters.redrives).toEqual([])
  })

  it('is cancelled by its number', async () => {
    const { send } = setUp()
    await send('POST', '/dead-letters/redrive', {})
    const cancelled = await send('POST', '/redrives/1/cancel')
    expect(cancelled.statusCode).toBe(200)
    expect(cancelled.json()).toMatchObject({ state: 'cancelled' })
    expect((await send('POST', '/redrives/9/cancel')).json()).toMatchObject({ code: 'redrive_not_found' })
    expect((await send('GET', '/redrives/x')).statusCode).toBe(404)
  })
})

describe('DELETE /api/v1/dead-letters', () => {
  it('discards one', async () => {
    const { letters, runId, send } = setUp()
    expect((await send('DELETE', `/dead-letters/${runId}`)).statusCode).toBe(204)
    expect(letters.stored.size).toBe(0)
    expect((await send('DELETE', `/dead-letters/${runId}`)).statusCode).toBe(404)
  })

  it('discards all that match, and says how many', async () => {
    const { letters, send } = setUp()
    const answer = await send('DELETE', '/dead-letters?fingerprint=00000000deadbeef')
    expect(answer.json()).toEqual({ discarded: 1 })
    expect(letters.asked).toEqual([{ discard: { fingerprint: '00000000deadbeef' } }])
  })

  it('is refused without a filter, so that a slip does not take all', async () => {
    const { letters, send } = setUp()
    const answer = await send('DELETE', '/dead-letters')
    expect(answer.statusCode).toBe(422)
    expect(answer.json()).toMatchObject({ errors: [{ pointer: 'query:job_id' }] })
    expect(letters.stored.size).toBe(1)
  })
})
