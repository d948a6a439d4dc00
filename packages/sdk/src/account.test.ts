import { expect, test } from 'vitest'
import type { Verification } from './index.js'
import { createClient } from './index.js'

/** A client whose calls are answered from a list, one after another. */
function clientWith(...answers: unknown[]) {
  const calls: { method: string; url: URL; body: unknown }[] = []
  const fetch: typeof globalThis.fetch = (url, init) => {
    const sent = typeof init?.body === 'string' ? (JSON.parse(init.body) as unknown) : undefined
    calls.push({
      method: init?.method ?? '',
      url: new URL(url instanceof Request ? url.url : url),
      body: sent,
    })
    const answer = answers[calls.length - 1]
    return Promise.resolve(
      answer === undefined
        ? new Response(null, { status: 204 })
        : new Response(JSON.stringify(answer), { headers: { 'content-type': 'application/json' } }),
    )
  }
  return { client: createClient({ url: 'http://carillon.test', fetch }), calls }
}

function part(given: Partial<Verification>): Verification {
  return {
    from: '2026-11-01T00:00:00.000Z',
    to: '2026-11-02T00:00:00.000Z',
    jobs: 1,
    expected: 4,
    ran: 2,
    late: 0,
    caught_up: 0,
    skipped: 2,
    in_flight: 0,
    paused: 0,
    pending: 0,
    unaccounted: 0,
    doubled: 0,
    unexpected: 0,
    wrong_count: 0,
    tz_changed: 0,
    failed: 0,
    not_verifiable: 0,
    skipped_by_reason: { missed: 2 },
    findings: [],
    notes: [],
    next_cursor: null,
    ...given,
  }
}

const finding = { job_id: 'job_1', job: 'a', tick: null, kind: 'doubled', detail: 'twice' } as const

test('why asks about an instant, encoded', async () => {
  const { client, calls } = clientWith({ verdict: 'ran' })
  expect(await client.jobs.why('job_1', '2026-11-02T09:00:00+01:00')).toEqual({ verdict: 'ran' })
  expect(calls[0]?.url.href).toBe(
    'http://carillon.test/api/v1/jobs/job_1/why?at=2026-11-02T09%3A00%3A00%2B01%3A00',
  )
})

test('verify asks until all parts are there, with the range as it was answered, and adds them up', async () => {
  const { client, calls } = clientWith(
    part({ next_cursor: 'c1', notes: ['ends now'], findings: Array.from({ length: 70 }, () => finding) }),
    part({
      next_cursor: 'c2',
      skipped: 3,
      expected: 5,
      skipped_by_reason: { missed: 1, overlap: 2 },
      notes: ['ends now'],
    }),
    part({ unaccounted: 1, expected: 5, findings: Array.from({ length: 70 }, () => finding) }),
  )
  const progress: number[] = []
  const sum = await client.verify({
    from: '2026-11-01T00:00:00Z',
    to: '2030-01-01T00:00:00Z',
    jobId: 'job_1',
    onProgress: ({ expected }) => progress.push(expected),
  })
  expect(sum).toMatchObject({
    jobs: 3,
    expected: 14,
    ran: 6,
    skipped: 7,
    unaccounted: 1,
    skipped_by_reason: { missed: 5, overlap: 2 },
    notes: ['ends now'],
    next_cursor: null,
  })
  expect(sum.findings).toHaveLength(100)
  expect(progress).toEqual([4, 9])
  expect(calls.map(({ url }) => Object.fromEntries(url.searchParams))).toEqual([
    { from: '2026-11-01T00:00:00Z', to: '2030-01-01T00:00:00Z', job_id: 'job_1' },
    { from: '2026-11-01T00:00:00.000Z', to: '2026-11-02T00:00:00.000Z', job_id: 'job_1', cursor: 'c1' },
    { from: '2026-11-01T00:00:00.000Z', to: '2026-11-02T00:00:00.000Z', job_id: 'job_1', cursor: 'c2' },
  ])
})

test('cluster and events are read', async () => {
  const { client, calls } = clientWith({ unowned: 3 }, { data: [{ event: 1 }] })
  expect(await client.cluster()).toEqual({ unowned: 3 })
  expect(await client.events({ state: 'open', limit: 5 })).toEqual([{ event: 1 }])
  expect(calls.map(({ url }) => url.pathname + url.search)).toEqual([
    '/api/v1/cluster',
    '/api/v1/events?state=open&limit=5',
  ])
})

test('the brake is shown, set and taken off', async () => {
  const { client, calls } = clientWith({ brake: null }, { reason: 'slow' }, undefined)
  const input = { catch_up_factor: 0, reason: 'slow', for_seconds: 60 }
  expect(await client.brake.get()).toBeNull()
  expect(await client.brake.set(input)).toEqual({ reason: 'slow' })
  await client.brake.clear()
  expect(calls.map(({ method, url, body }) => [method, url.pathname, body])).toEqual([
    ['GET', '/api/v1/brake', undefined],
    ['PUT', '/api/v1/brake', input],
    ['DELETE', '/api/v1/brake', undefined],
  ])
})
