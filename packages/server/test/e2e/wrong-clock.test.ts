import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Job } from '@carillon/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { joinEmbeddedPostgres } from '../../src/db/embedded/index.js'
import { Carillon, temporaryFolder, until } from './support/carillon.js'
import { Sink } from './support/sink.js'

const hour = 3_600_000
const jobCount = 40
const seconds = 8

/** Shifts the wall clock of a whole process, as its kernel calls see it. Package `faketime` in Debian. */
const libraries = ['x86_64-linux-gnu', 'aarch64-linux-gnu', 'faketime', '.']
  .map((folder) => `/usr/lib/${folder}/faketime/libfaketime.so.1`)
  .filter((path) => existsSync(path))

/** Without it: what JavaScript sees of the wall clock, which is all that a process of ours looks at. */
const shiftedDate = (shiftMs: number) =>
  `data:text/javascript,${encodeURIComponent(`
  const real = Date
  globalThis.Date = class extends real {
    constructor(...args) { if (args.length === 0) super(real.now() + ${shiftMs}); else super(...args) }
    static now() { return real.now() + ${shiftMs} }
  }`)}`

function wrongBy(shiftMs: number): Record<string, string> {
  const [library] = libraries
  if (library === undefined) return { NODE_OPTIONS: `--import ${shiftedDate(shiftMs)}` }
  const hours = shiftMs / hour
  return {
    LD_PRELOAD: library,
    FAKETIME: `${hours < 0 ? '' : '+'}${hours}h`,
    // A machine with a wrong wall clock has a monotonic one like any other.
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
    DONT_FAKE_MONOTONIC: '1',
  }
}

describe('processes whose clocks are hours apart', () => {
  const folder = temporaryFolder()
  let postgres: Awaited<ReturnType<typeof joinEmbeddedPostgres>>
  let sink: Sink
  const fleet: Carillon[] = []

  beforeAll(async () => {
    console.log(`wall clocks are shifted by ${libraries[0] ?? 'a preloaded script'}`)
    postgres = await joinEmbeddedPostgres({ dataDir: join(folder.path, 'data') })
    sink = await Sink.listen()
    const env = {
      DATABASE_URL: postgres.url,
      CARILLON_MIN_INTERVAL_SECONDS: '1',
      CARILLON_LOG_FORMAT: 'json',
      CARILLON_LOG_LEVEL: 'info',
    }
    const wrong = [{}, wrongBy(5 * hour), wrongBy(-7 * hour)]
    fleet.push(...(await Promise.all(wrong.map((by) => Carillon.up({ env: { ...env, ...by } })))))
  })

  afterAll(async () => {
    await Promise.all(fleet.map((carillon) => carillon.terminate()))
    await sink?.close()
    await postgres?.leave()
    folder.remove()
  })

  /** By its log: the Date header of an answer is made by Node itself, whose clock no preloaded script reaches. */
  function clockOf({ stderr }: Carillon): number {
    const [line] = stderr.split('\n')
    return new Date((JSON.parse(line ?? '') as { time: number | string }).time).getTime() - Date.now()
  }

  test('are what this test says they are', () => {
    const off = fleet.map(clockOf)
    expect(off.map((ms) => Math.round(ms / hour) + 0)).toEqual([0, 5, -7])
  })

  test('fire and run every tick once and none before its time, by whichever of them a job was registered', async () => {
    const jobs: Job[] = await Promise.all(
      Array.from({ length: jobCount }, (_, at) =>
        (fleet[at % fleet.length] as Carillon).client.jobs.create({
          name: `every-second-${at}`,
          schedule: '* * * * * *',
          // On a busy machine a run may take longer than a second: that is not what this is about.
          overlap_policy: 'ALLOW',
          target: { type: 'http', url: `${sink.url}/` },
        }),
      ),
    )
    for (const job of jobs) {
      expect(Math.abs(Date.parse(job.next_run_at ?? '') - Date.now())).toBeLessThan(hour)
      expect(Math.abs(Date.parse(job.created_at) - Date.now())).toBeLessThan(hour)
    }
    const from = Math.ceil(Date.now() / 1000) * 1000 + 2_000
    const ticks = Array.from({ length: seconds }, (_, at) => new Date(from + at * 1000).toISOString())
    const expected = jobs.flatMap((job) => ticks.map((tick) => `${job.job_id}@${tick}`))
    await until('all ticks of the span have arrived', () => {
      const counts = sink.counts()
      return expected.every((key) => counts.has(key))
    })
    const doubled = [...sink.counts()].filter(([, count]) => count > 1)
    const early = sink.deliveries.filter(
      ({ receivedAt, headers }) => receivedAt < Date.parse(String(headers['carillon-scheduled-at'])),
    )
    expect({ doubled, early }).toEqual({ doubled: [], early: [] })
  })

  test('each do their part', async () => {
    for (const carillon of fleet) {
      const text = await (await fetch(`${carillon.url}/metrics`)).text()
      expect(Number(/^carillon_ticks_total\{decision="fired"\} (\d+)/m.exec(text)?.[1] ?? 0)).toBeGreaterThan(
        0,
      )
      expect(Number(/^carillon_partitions_owned (\d+)/m.exec(text)?.[1] ?? 0)).toBeGreaterThan(60)
    }
  })
})
