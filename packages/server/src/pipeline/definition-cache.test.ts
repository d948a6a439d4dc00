import { expect, test } from 'vitest'
import { DefinitionCache } from './definition-cache.js'
import type { LeasedRun, RunDefinition } from './run.js'

const runOf = (job: number, version = 1) => ({ job, version }) as LeasedRun
const definitionOf = (job: number) => ({ jobId: `job_${job}` }) as RunDefinition

function cacheOf(gone: ReadonlySet<number> = new Set()) {
  const read: number[] = []
  const cache = new DefinitionCache((wanted) => {
    read.push(...wanted.map(({ job }) => job))
    const found = wanted.filter(({ job }) => !gone.has(job))
    return Promise.resolve(new Map(found.map(({ job, version }) => [`${job}@${version}`, definitionOf(job)])))
  }, 500)
  return { cache, read }
}

test('a definition is read once, those of a batch together, and one per version', async () => {
  const { cache, read } = cacheOf()
  const batch = [runOf(1), runOf(2), runOf(1)]
  for (const run of batch) expect(await cache.get(run, batch)).toEqual(definitionOf(run.job))
  expect(read).toEqual([1, 2])
  await cache.get(runOf(1, 2), [runOf(1, 2)])
  expect(read).toEqual([1, 2, 1])
})

test('one that is gone is null', async () => {
  const { cache } = cacheOf(new Set([7]))
  expect(await cache.get(runOf(7), [runOf(7)])).toBeNull()
})

test('what is in use stays while a crowd of others passes through, and the crowd does not', async () => {
  const { cache, read } = cacheOf()
  await cache.get(runOf(0), [runOf(0)])
  for (let from = 1; from <= 1_200; from += 10) {
    const batch = Array.from({ length: 10 }, (_, at) => runOf(from + at))
    for (const run of batch) expect(await cache.get(run, batch)).not.toBeNull()
    await cache.get(runOf(0), [runOf(0)])
  }
  expect(read.filter((job) => job === 0)).toHaveLength(1)
  await cache.get(runOf(1), [runOf(1)])
  expect(read.filter((job) => job === 1)).toHaveLength(2)
})
