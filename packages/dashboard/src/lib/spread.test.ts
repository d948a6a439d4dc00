import type { Job } from '@carillon/contract'
import { expect, test } from 'vitest'
import { giveJitter, type SpreadApi, unspreadJobs } from './spread.js'

const rule = { cron: '0 9 * * *' }
const job = (id: number, given: Partial<Job> = {}) =>
  ({
    ...{ job_id: `job_${id}`, name: `n${id}`, version: id, managed_by: null, schedule: rule },
    ...{ timezone: 'UTC', jitter_seconds: 0, fire_window_seconds: 0 },
    ...given,
  }) as Job

function apiOf(pages: Job[][], edit: SpreadApi['jobs']['edit'] = () => Promise.resolve()): SpreadApi {
  return {
    jobs: {
      list: ({ cursor = '0' }) => {
        const at = Number(cursor)
        return Promise.resolve({
          data: pages[at] ?? [],
          next_cursor: at + 1 < pages.length ? String(at + 1) : null,
        })
      },
      edit,
    },
  }
}

test('finds the jobs of a suggestion on every page: the same schedule and zone, and nothing that spreads them', async () => {
  const api = apiOf([
    [job(1), job(2, { timezone: 'Europe/Madrid' }), job(3, { jitter_seconds: 5 })],
    [],
    [job(4, { fire_window_seconds: 60 }), job(5, { schedule: '0 9 * * *' }), job(6)],
  ])
  const looked: number[] = []
  const found = await unspreadJobs(
    api,
    { schedule: rule, timezone: 'UTC' },
    { signal: new AbortController().signal, onLooked: (jobs) => looked.push(jobs) },
  )
  expect(found.map(({ job_id: id }) => id)).toEqual(['job_1', 'job_6'])
  expect(looked).toEqual([3, 3, 6])
})

test('gives each jitter once as it was seen, goes on past one that fails, and tells how far it is', async () => {
  const asked: unknown[] = []
  const jobs = Array.from({ length: 20 }, (_, index) => job(index + 1))
  const api = apiOf([], (id, patch) => {
    asked.push([id, patch])
    return id === 'job_7' ? Promise.reject(new Error('changed meanwhile')) : Promise.resolve()
  })
  let told = 0
  const signal = new AbortController().signal
  const given = await giveJitter(api, jobs, 30, { signal, onGiven: () => told++ })
  expect(given).toEqual({ done: 19, failed: [{ name: 'n7', error: new Error('changed meanwhile') }] })
  expect(told).toBe(20)
  expect(asked).toHaveLength(20)
  expect(asked).toContainEqual(['job_9', { jitter_seconds: 30, version: 9 }])
})

test('begins no other once it is called off', async () => {
  const calledOff = new AbortController()
  let asked = 0
  const api = apiOf([], () => {
    if (++asked === 2) calledOff.abort()
    return Promise.resolve()
  })
  const jobs = Array.from({ length: 50 }, (_, index) => job(index + 1))
  await giveJitter(api, jobs, 30, { signal: calledOff.signal, onGiven: () => undefined })
  expect(asked).toBeLessThanOrEqual(5)
})
