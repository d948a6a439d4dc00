import type { JobDefinition, JobInput } from '@carillon/contract'
import { expect } from 'vitest'
import { parkedUntil } from '../../src/pipeline/parked.js'
import { faultsInLives } from './lives.js'
import type { TestNode } from './test-house.js'
import type { House } from './use-house.js'
import { utcText } from '../../src/time/iso-text.js'

export type TestJob = Awaited<ReturnType<TestNode['register']>>

export const iso = (ms: number) => utcText(ms)

/** Lets time pass, and fires what is due or near. */
export async function stage(house: House, node: TestNode, afterMs: number): Promise<void> {
  await house.clock.advance(afterMs)
  await node.beat()
  await node.firing.runOnce()
}

/** A job every ten seconds whose first tick is staged and 1.5 s ahead. */
export async function staged(
  house: House,
  node: TestNode,
  input: Partial<JobInput> = {},
): Promise<{ job: TestJob; tick: number }> {
  const job = await node.register({ schedule: '@every 10s', ...input })
  await stage(house, node, 8_500)
  return { job, tick: Date.parse(job.next_run_at ?? '') }
}

export interface JobRow {
  state: string
  version: number
  definition: JobDefinition
  effective_from: number
  changed_at: number
  paused_at: number | null
  paused_until: number | null
  pause_reason: string | null
  ended_at: number | null
  one_off: boolean
}

export async function jobRow(house: House, job: { key: number }): Promise<JobRow> {
  const [row] = await house.query<JobRow>('SELECT * FROM carillon.jobs WHERE job = $1', [job.key])
  if (row === undefined) throw new Error(`There is no job ${job.key}.`)
  return row
}

export interface SegmentRow {
  from_ms: number
  version: number
  calendars: unknown
  reason: string
}

export function segmentsOf(house: House, job: { key: number }): Promise<SegmentRow[]> {
  return house.query<SegmentRow>('SELECT * FROM carillon.segments WHERE job = $1 ORDER BY from_ms', [job.key])
}

export async function expectAccounted(house: House, job: { key: number }): Promise<void> {
  expect(await faultsInLives(house, job)).toEqual([])
}

export const parked = { available_at: parkedUntil, slot: null }

/** Puts the tick after the staged one into the queue, held by the node, and moves the cursor past it. Answers it. */
export async function holdNextTick(house: House, node: TestNode, job: { key: number }): Promise<number> {
  const [next] = await house.query<{ due: number }>(
    `WITH next AS (
       SELECT q.*, t.due AS tick, t.due - q.due AS step
       FROM carillon.queue q JOIN carillon.timers t USING (job) WHERE q.job = $1
     ), held AS (
       INSERT INTO carillon.queue (due, job, tenant, route, version, epoch, next_due, slot, places, max_attempts,
                                   available_at, fired_at, holder, token, leased_at, partition)
       SELECT tick, job, tenant, route, version, epoch, tick + step, slot + 1, places, max_attempts,
              available_at + step, fired_at, $2, 7, fired_at, partition
       FROM next
     )
     UPDATE carillon.timers t
     SET due = tick + step, start_at = start_at + step, accounted_through = tick, runs = runs + 1
     FROM next WHERE t.job = next.job
     RETURNING next.tick AS due`,
    [job.key, node.membership.incarnation],
  )
  if (next === undefined) throw new Error('Nothing is staged.')
  return next.due
}
