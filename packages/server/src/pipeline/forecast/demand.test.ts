import { describe, expect, it } from 'vitest'
import { jobIdOf, newUuid } from '../../platform/ids.js'
import { parseSchedule } from '../../time/schedule.js'
import { spreadMs } from '../spread.js'
import { Breather } from './breather.js'
import { type ActiveJob, Demand } from './demand.js'
import { hottestSeconds } from './hottest.js'
import { suggest } from './suggest.js'

const from = Date.parse('2026-11-16T06:00:00Z')
const day = 86_400

function jobOf(schedule: ActiveJob['definition']['schedule'], more: Partial<ActiveJob['definition']> = {}) {
  const definition = {
    name: 'job',
    schedule,
    timezone: 'UTC',
    anchor: from - 12_345_678,
    dst_gap: 'run_after',
    dst_overlap: 'first',
    exclude: [],
    on_excluded: 'exclude',
    starts_at: null,
    ends_at: null,
    jitter_seconds: 0,
    fire_window_seconds: 0,
    ...more,
  } as unknown as ActiveJob['definition']
  return { job: 1, uuid: newUuid(), name: 'job', one_off: false, start_at: 0, definition }
}

/** Each job by itself, tick by tick. */
function plainly(jobs: readonly ActiveJob[], seconds: number): number[] {
  const counts = Array.from({ length: seconds }, () => 0)
  for (const { uuid, definition } of jobs) {
    const schedule = parseSchedule({ ...definition, calendars: {} })
    const spread = spreadMs(jobIdOf(uuid), definition)
    let tick = schedule.next(from - spread - 1)
    for (; tick !== null; tick = schedule.next(tick)) {
      const second = Math.floor((tick + spread) / 1000) - from / 1000
      if (second >= seconds) break
      if (second >= 0) counts[second] = (counts[second] ?? 0) + 1
    }
  }
  return counts
}

const breather = () => new Breather({ monotonic: () => performance.now() })

async function demandOf(jobs: readonly ActiveJob[], seconds = day, effort?: number): Promise<Demand> {
  const demand = new Demand(from, seconds, 1, effort)
  for (const job of jobs) demand.add(job, {})
  await demand.count(breather())
  return demand
}

it('a breath lets others have their turn once a slice is over, and not before', async () => {
  let now = 0
  const slow = new Breather({ monotonic: () => now })
  let others = 0
  const turn = setImmediate(() => void others++)
  await slow.breathe()
  expect(others).toBe(0)
  now = 8
  await slow.breathe()
  expect(others).toBe(1)
  clearImmediate(turn)
})

describe('the demand of many jobs', () => {
  it('is what each of them comes to by itself, for every kind of schedule', async () => {
    const schedules = ['* * * * *', '0 9 * * 1-5', '*/7 * * * * *', '@every 90s', '@every 1d', '@every 7s']
    const jobs = schedules.flatMap((schedule) => [
      jobOf(schedule),
      jobOf(schedule, { jitter_seconds: 300 }),
      jobOf(schedule, { timezone: 'Europe/Madrid', fire_window_seconds: 60 }),
      jobOf(schedule, { ends_at: '2026-11-16T12:00:00Z' }),
      jobOf([schedule, '30 10 * * *']),
    ])
    const demand = await demandOf(jobs)
    expect(demand.sampled).toBe(false)
    expect([...demand.seconds]).toEqual(plainly(jobs, day))
  })

  it('counts a one-off at its start, and one that is over not at all', async () => {
    const once = { ...jobOf('2026-11-16T07:00:00Z'), one_off: true, start_at: from + 3_600_500 }
    const demand = await demandOf([once, { ...once, start_at: from - 1 }])
    expect(hottestSeconds(demand.seconds, 5)).toEqual([{ second: 3_600, firings: 1 }])
    expect(await demand.samplesAt(3_600, breather())).toEqual([{ job_id: jobIdOf(once.uuid), name: 'job' }])
  })

  it('of 100,000 jobs is counted without a long turn', async () => {
    const rules = ['* * * * *', '*/5 * * * *', '0 * * * *', '0 0 * * *']
    const demand = new Demand(from, day)
    for (let at = 0; at < 100_000; at++)
      demand.add(jobOf(at % 2 === 0 ? '@every 5m' : (rules[at % 4] ?? ''), { anchor: from - at * 977 }), {})
    // Between two breaths there are some thousand additions at most.
    let breaths = 0
    const counted = breather()
    counted.breathe = () => Promise.resolve(void breaths++)
    await demand.count(counted)
    expect(breaths).toBeGreaterThan(300)
    expect(demand.groups.size).toBe(2)
    expect(demand.sampled).toBe(false)
    expect(demand.seconds.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(14_000_000)
  })

  it('beyond its effort keeps the peaks and says that it was sampled', async () => {
    const crowd = Array.from({ length: 500 }, () => jobOf('0 12 * * *'))
    const others = Array.from({ length: 300 }, (_, at) => jobOf([`${at % 60} * * * *`, `0 ${at % 24} * * *`]))
    const demand = await demandOf([...crowd, ...others], day, 10_000)
    expect(demand.sampled).toBe(true)
    const [hottest] = hottestSeconds(demand.seconds, 1)
    expect(hottest?.second).toBe(6 * 3_600)
    const exact = plainly([...crowd, ...others], day).reduce((sum, count) => sum + count, 0)
    const sampled = demand.seconds.reduce((sum, count) => sum + count, 0)
    expect(Math.abs(sampled - exact) / exact).toBeLessThan(0.5)
  })

  it('leads to a suggestion that lowers the peak', async () => {
    const crowd = Array.from({ length: 1_000 }, () => jobOf('0 * * * *'))
    const demand = await demandOf([...crowd, jobOf('* * * * *')])
    const { peak_before, peak_after, suggestions } = await suggest(demand, breather())
    expect(peak_before).toBe(1_001)
    expect(suggestions).toMatchObject([{ schedule: '0 * * * *', jobs: 1_000, jitter_seconds: 120 }])
    expect(peak_after).toBeLessThanOrEqual(10)
    const calm = await suggest(await demandOf([jobOf('* * * * *')]), breather())
    expect(calm).toEqual({ peak_before: 1, peak_after: 1, suggestions: [] })
  })
})
