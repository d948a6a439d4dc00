import type { JobDefinition } from '@carillon/contract'
import { expect, test } from 'vitest'
import { JobSeries } from '../../src/pipeline/monitor/job-series.js'
import type { AttemptResult } from '../../src/pipeline/run.js'
import { Metrics } from '../../src/platform/metrics.js'
import type { TestNode } from '../kit/test-house.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

function seriesOf({ database }: TestNode, most = 10) {
  const metrics = new Metrics()
  return { metrics, series: new JobSeries({ database, metrics, tag: 'monitor', most }) }
}

function definitionOf(name: string, tags?: string[]): JobDefinition {
  return { name, ...(tags !== undefined && { tags }) } as JobDefinition
}

function resultOf(definition: JobDefinition | null, given: Partial<AttemptResult> = {}): AttemptResult {
  const run = { availableAt: 10_000 } as AttemptResult['run']
  return {
    ...{ run, definition, outcome: 'success', startedAt: 10_250, finishedAt: 12_250, retryable: false },
    ...{ retryAfterMs: null, reason: null, error: null, result: null },
    ...given,
  }
}

async function lines(metrics: Metrics): Promise<string[]> {
  return (await metrics.render()).split('\n').filter((line) => /^carillon_job_[a-z_]+\{/.test(line))
}

test('a job has series of its own where it asked for them by the tag, and no other has', async () => {
  const { metrics, series } = seriesOf(await house().node())
  const asks = definitionOf('asks', ['billing', 'monitor'])
  const quiet = definitionOf('quiet', ['billing'])
  series.meet({ jobId: 'job_a', definition: asks })
  series.meet({ jobId: 'job_b', definition: quiet })
  expect([series.asks(resultOf(asks)), series.asks(resultOf(quiet)), series.asks(resultOf(null))]).toEqual([
    true,
    false,
    false,
  ])
  expect(series.asks(resultOf(definitionOf('old')))).toBe(false)
  await series.told(resultOf(asks), Promise.resolve('closed'))
  await series.told(resultOf(quiet), Promise.resolve('closed'))
  expect(await lines(metrics)).toEqual([
    'carillon_job_attempts_total{job_id="job_a",name="asks",outcome="success"} 1',
    'carillon_job_last_success_timestamp_seconds{job_id="job_a",name="asks"} 12.25',
    'carillon_job_last_duration_seconds{job_id="job_a",name="asks"} 2',
    'carillon_job_last_start_lag_seconds{job_id="job_a",name="asks"} 0.25',
  ])
})

test('a failure that is tried again, and a lost lease, are told apart from an end', async () => {
  const { metrics, series } = seriesOf(await house().node())
  const definition = definitionOf('asks', ['monitor'])
  series.meet({ jobId: 'job_a', definition })
  const failed = resultOf(definition, { outcome: 'failed' })
  for (const answer of ['retrying', 'stale', 'closed'] as const)
    await series.told(failed, Promise.resolve(answer))
  const attempts = (await lines(metrics)).filter((line) => line.startsWith('carillon_job_attempts'))
  expect(attempts.map((line) => /outcome="(\w+)"/.exec(line)?.[1])).toEqual(['retrying', 'stale', 'failed'])
})

test('no more jobs than the bound have series, and those that had to do without are counted', async () => {
  const { metrics, series } = seriesOf(await house().node(), 2)
  for (let n = 0; n < 5; n++) {
    const definition = definitionOf(`job-${n}`, ['monitor'])
    series.meet({ jobId: `job_${n}`, definition })
    await series.told(resultOf(definition), Promise.resolve('closed'))
  }
  const named = new Set((await lines(metrics)).map((line) => /job_id="(\w+)"/.exec(line)?.[1]))
  expect([...named]).toEqual(['job_0', 'job_1'])
  const text = await metrics.render()
  expect(text).toContain('carillon_jobs_monitored 2')
  expect(text).toContain('carillon_jobs_unmonitored_total 3')
})

test('series go with their jobs, and leave their room to others; a paused job keeps its own', async () => {
  const node = await house().node()
  const { metrics, series } = seriesOf(node, 2)
  const jobs = [await node.register(), await node.register()]
  for (const { job_id: jobId, name } of jobs) {
    const definition = definitionOf(name, ['monitor'])
    series.meet({ jobId, definition })
    await series.told(resultOf(definition), Promise.resolve('closed'))
  }
  const [kept, gone] = jobs
  if (kept === undefined || gone === undefined) throw new Error('There are no jobs.')
  await node.registry.pause(1, kept.job_id, {})
  await node.registry.delete(1, gone.job_id)
  await series.runOnce()
  const text = (await lines(metrics)).join('\n')
  expect(text).toContain(kept.job_id)
  expect(text).not.toContain(gone.job_id)
  const next = definitionOf('next', ['monitor'])
  series.meet({ jobId: 'job_next', definition: next })
  await series.told(resultOf(next), Promise.resolve('closed'))
  expect((await lines(metrics)).join('\n')).toContain('job_next')
})

test('a job that got another name is not there twice', async () => {
  const { metrics, series } = seriesOf(await house().node())
  for (const name of ['before', 'after']) {
    const definition = definitionOf(name, ['monitor'])
    series.meet({ jobId: 'job_a', definition })
    await series.told(resultOf(definition), Promise.resolve('closed'))
  }
  expect((await lines(metrics)).filter((line) => line.includes('before'))).toEqual([])
})
