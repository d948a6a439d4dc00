import { expect, test } from 'vitest'
import { createClient } from './index.js'

/** A client whose calls are answered from a list, one after another. */
function clientWith(...answers: unknown[]) {
  const calls: string[] = []
  const bodies: unknown[] = []
  const fetch: typeof globalThis.fetch = (url, init) => {
    const { pathname, search } = new URL(url instanceof Request ? url.url : url)
    calls.push(`${init?.method ?? ''} ${pathname}${search}`)
    bodies.push(typeof init?.body === 'string' ? (JSON.parse(init.body) as unknown) : undefined)
    const answer = answers[calls.length - 1]
    return Promise.resolve(
      answer === undefined
        ? new Response(null, { status: 204 })
        : new Response(JSON.stringify(answer), { headers: { 'content-type': 'application/json' } }),
    )
  }
  return { client: createClient({ url: 'http://carillon.test', fetch }), calls, bodies }
}

test('runs are read, cancelled and retried by their id', async () => {
  const { client, calls, bodies } = clientWith({ run_id: 'run_1' }, { run_id: 'run_1' }, { run_id: 'run_1' })
  await client.runs.get('run_1')
  await client.runs.cancel('run_1')
  await client.runs.retry('run_1', { payload: null })
  expect(calls).toEqual([
    'GET /api/v1/runs/run_1',
    'POST /api/v1/runs/run_1/cancel',
    'POST /api/v1/runs/run_1/retry',
  ])
  expect(bodies).toEqual([undefined, {}, { payload: null }])
})

test('dead letters are iterated page by page, with the same filter', async () => {
  const { client, calls } = clientWith(
    { data: [{ run_id: 'run_1' }], next_cursor: 'c1' },
    { data: [{ run_id: 'run_2' }], next_cursor: null },
  )
  const seen: string[] = []
  for await (const { run_id: runId } of client.deadLetters.iterate({ job_id: 'job_1' })) seen.push(runId)
  expect(seen).toEqual(['run_1', 'run_2'])
  expect(calls).toEqual([
    'GET /api/v1/dead-letters?job_id=job_1',
    'GET /api/v1/dead-letters?job_id=job_1&cursor=c1',
  ])
})

test('dead letters are grouped, shown, re-driven and discarded', async () => {
  const { client, calls, bodies } = clientWith(
    { data: [{ count: 2 }] },
    { run_id: 'run_1' },
    { run_id: 'run_1' },
    undefined,
    { discarded: 3 },
    { redrive: 1 },
  )
  expect(await client.deadLetters.groups({ job_id: 'job_1' })).toEqual([{ count: 2 }])
  await client.deadLetters.get('run_1')
  await client.deadLetters.redrive('run_1', { version: 'current' })
  await client.deadLetters.discard('run_1')
  expect(await client.deadLetters.discardAll({ fingerprint: 'f' })).toBe(3)
  await client.deadLetters.redriveAll({ fingerprint: 'f', canary: 1 })
  expect(calls).toEqual([
    'GET /api/v1/dead-letters/groups?job_id=job_1',
    'GET /api/v1/dead-letters/run_1',
    'POST /api/v1/dead-letters/run_1/redrive',
    'DELETE /api/v1/dead-letters/run_1',
    'DELETE /api/v1/dead-letters?fingerprint=f',
    'POST /api/v1/dead-letters/redrive',
  ])
  expect([bodies[2], bodies[5]]).toEqual([{ version: 'current' }, { fingerprint: 'f', canary: 1 }])
})

test('re-drives of many are listed, watched and cancelled', async () => {
  const { client, calls } = clientWith({ data: [{ redrive: 1 }] }, { redrive: 1 }, { redrive: 1 })
  expect(await client.redrives.list()).toEqual([{ redrive: 1 }])
  await client.redrives.get(1)
  await client.redrives.cancel(1)
  expect(calls).toEqual(['GET /api/v1/redrives', 'GET /api/v1/redrives/1', 'POST /api/v1/redrives/1/cancel'])
})

test.each(['', '.', '..'])('%j is no id of a run: nothing is sent', async (id) => {
  const { client, calls } = clientWith()
  await expect(client.runs.get(id)).rejects.toThrow(TypeError)
  await expect(client.deadLetters.discard(id)).rejects.toThrow(TypeError)
  expect(calls).toEqual([])
})
