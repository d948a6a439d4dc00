import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { barChart, lineChart } from '../bench/lib/chart.mjs'
import { compare, inOne, wrongIn } from '../bench/lib/compare.mjs'
import { stolenBetween } from '../bench/lib/cpu.mjs'
import { medians, percentiles, percentilesOfWhole } from '../bench/lib/figures.mjs'
import { withStolen } from '../bench/lib/machine.mjs'
import { freeBytesIn, freshPageUs, isDear, MemoryFiller } from '../bench/lib/memory.mjs'
import { commandOf } from '../bench/lib/options.mjs'
import { patiently, TooLate } from '../bench/lib/patiently.mjs'
import { Recorder, tally } from '../bench/lib/recorder.mjs'

describe('a tally of what started', () => {
  const of = (...notes: [index: number, due: number, at: number][]) => {
    const recorder = new Recorder()
    for (const [index, due, at] of notes) recorder.note(index, due, at)
    return tally([recorder.records()], 3, (index: number) => index)
  }

  it('finds what is lost, doubled, early, or none of it', () => {
    const { started, lost, doubled, early, beside } = of(
      [0, 100, 105],
      [0, 100, 106],
      [2, 100, 90],
      [7, 100, 101],
    )
    expect({ started, lost, doubled, early, beside }).toEqual({
      started: 2,
      lost: 1,
      doubled: 1,
      early: 1,
      beside: 1,
    })
  })

  it('finds nothing wrong where each started once, in its time', () => {
    const { lost, doubled, early, lags } = of([0, 100, 101], [1, 100, 102], [2, 100, 103])
    expect({ lost, doubled, early }).toEqual({ lost: 0, doubled: 0, early: 0 })
    expect(percentiles(lags)).toEqual({ p50: 2, p95: 3, p99: 3, max: 3 })
  })

  it('counts over several processes together', () => {
    const [one, other] = [new Recorder(), new Recorder()]
    one.note(0, 100, 101)
    other.note(0, 100, 101)
    expect(tally([one.records(), other.records()], 1, (index: number) => index)).toMatchObject({
      lost: 0,
      doubled: 1,
    })
  })
})

describe('a comparison', () => {
  const run = (entrants: object[], better = 'higher') =>
    compare({ workload: 'w', parameters: { n: 1 }, entrants, repeats: 3, score: { figure: 'speed', better } })
  const turns: string[] = []
  const entrant = (name: string, kind: string, speeds: number[], wrong = { lost: 0, doubled: 0 }) => ({
    name,
    kind,
    run: (repeat: number) => {
      turns.push(name)
      return Promise.resolve({ speed: speeds[repeat], lag: { p99: speeds[repeat] }, ...wrong })
    },
  })

  it('lets all take turns, and compares medians with the best peer and with the probe', async () => {
    turns.length = 0
    const figures = await run([
      entrant('carillon', 'ours', [10, 30, 20]),
      entrant('a', 'peer', [5, 5, 5]),
      entrant('b', 'peer', [10, 10, 10]),
      entrant('probe', 'probe', [40, 40, 40]),
    ])
    expect(turns.slice(0, 8)).toEqual(['carillon', 'a', 'b', 'probe', 'carillon', 'a', 'b', 'probe'])
    expect(figures).toMatchObject({
      ratio_best_peer: 2,
      best_peer: 'b',
      ratio_probe: 0.5,
      lost: 0,
      doubled: 0,
      repeats: 3,
    })
    expect(figures.ours).toMatchObject({ speed: 20, lag: { p99: 20 }, each: [10, 30, 20] })
  })

  it('tells each turn of a second figure, where there is one', async () => {
    const figures = await compare({
      workload: 'w',
      parameters: { n: 1 },
      entrants: [entrant('carillon', 'ours', [10, 30, 20]), entrant('a', 'peer', [5, 6, 7])],
      repeats: 3,
      score: { figure: 'speed', better: 'higher', beside: 'lag.p99' },
    })
    expect(figures.ours).toMatchObject({ each: [10, 30, 20], each_beside: [10, 30, 20] })
    expect(figures.peers).toMatchObject({ a: { each_beside: [5, 6, 7] } })
    expect((await run([entrant('carillon', 'ours', [1, 1, 1])])).ours).not.toHaveProperty('each_beside')
  })

  it('takes the lowest for the best where less is better', async () => {
    const figures = await run(
      [
        entrant('carillon', 'ours', [5, 5, 5]),
        entrant('a', 'peer', [50, 50, 50]),
        entrant('b', 'peer', [10, 10, 10]),
      ],
      'lower',
    )
    expect(figures).toMatchObject({ best_peer: 'b', ratio_best_peer: 0.5, probe: null, ratio_probe: null })
  })

  it('adds up what was lost or doubled in any repeat, and says so', async () => {
    const figures = await run([entrant('carillon', 'ours', [1, 1, 1], { lost: 1, doubled: 2 })])
    expect(figures).toMatchObject({ lost: 3, doubled: 6 })
    expect(wrongIn(figures)).toBe('3 lost, 6 doubled, 0 early')
    const cases = [0, 1].map((doubled) => ({ lost: 0, doubled }))
    expect(wrongIn(inOne(cases) as { lost: number; doubled: number })).toMatch('1 doubled')
    expect(wrongIn({ lost: 0, doubled: 0 })).toBeNull()
  })

  it('goes on without a peer that fails, but not without us', async () => {
    const broken = (kind: string) => ({
      name: 'broken',
      kind,
      run: () => Promise.reject(new Error('no such thing')),
    })
    const figures = await run([entrant('carillon', 'ours', [1, 1, 1]), broken('peer')])
    expect(figures).toMatchObject({ peers: { broken: { error: 'no such thing' } }, ratio_best_peer: null })
    await expect(run([broken('ours')])).rejects.toThrow('no such thing')
  })
})

it('medians are taken of every number, at every depth, and of an even count in the middle', () => {
  expect(
    medians([
      { a: 1, b: { c: 4 }, d: 'x' },
      { a: 3, b: { c: null }, d: 'x' },
    ]),
  ).toEqual({ a: 2, b: { c: 4 }, d: 'x' })
})

it('what came too late is tried again with more time, and other failures are not', async () => {
  const factors: number[] = []
  const attempt = (factor: number) => {
    factors.push(factor)
    return factor < 16 ? Promise.reject(new TooLate()) : Promise.resolve('done')
  }
  expect(await patiently(attempt)).toBe('done')
  expect(factors).toEqual([1, 4, 16])
  let others = 0
  const broken = () => Promise.reject(new Error(`broken ${++others}`))
  await expect(patiently(broken)).rejects.toThrow('broken 1')
})

describe('charts', () => {
  it('have a bar for every value, the longest for the largest, and escape what has a meaning', () => {
    const svg = barChart({
      title: 'a < b & c',
      unit: 'ms',
      groups: [
        {
          label: 'n 1',
          bars: [
            { name: 'us', value: 200 },
            { name: 'them', value: 100 },
            { name: 'none', value: null },
          ],
        },
      ],
    })
    const widths = [...svg.matchAll(/<rect[^>]* width="([\d.]+)"/g)].map(([, width]) => Number(width))
    expect(widths).toHaveLength(3)
    expect(widths[0]).toBeCloseTo(2 * (widths[1] as number))
    expect(widths[2]).toBe(0)
    expect(svg).toContain('a &lt; b &amp; c')
    expect(svg).toContain('not done')
  })

  it('draw a line through every point', () => {
    const svg = lineChart({
      title: 't',
      unit: 'ms',
      axis: 'jobs',
      series: [
        {
          name: 'p99',
          points: [
            [10, 1],
            [100, 2],
            [1000, 4],
          ],
        },
      ],
      logX: true,
    })
    const [, points = ''] = /points="([^"]+)"/.exec(svg) ?? []
    const xs = points.split(' ').map((point) => Number(point.split(',')[0]))
    expect(xs).toHaveLength(3)
    expect((xs[1] as number) - (xs[0] as number)).toBeCloseTo((xs[2] as number) - (xs[1] as number))
  })
})

describe('percentiles of whole milliseconds', () => {
  it('lie within the millisecond in which their values were recorded', () => {
    expect(percentilesOfWhole([0, 0, 0, 0])).toEqual({ p50: 0.5, p95: 1, p99: 1, max: 1 })
    expect(percentilesOfWhole([4, 2, 2, 3])).toEqual({ p50: 3, p95: 4.8, p99: 5, max: 5 })
    expect(percentilesOfWhole([])).toEqual({ p50: null, p95: null, p99: null, max: null })
  })

  it('are never above the greatest, nor below what was recorded', () => {
    const values = Array.from({ length: 1_000 }, (_, at) => (at * 7919) % 13)
    const [whole, plain] = [percentilesOfWhole(values), percentiles(values)]
    for (const key of ['p50', 'p95', 'p99', 'max'] as const) {
      expect(whole[key]).toBeGreaterThanOrEqual(plain[key] as number)
      expect(whole[key]).toBeLessThanOrEqual((plain[key] as number) + 1)
      expect(whole[key]).toBeLessThanOrEqual(whole.max as number)
    }
  })
})

describe('the command that a figure carries', () => {
  it.each([
    ['steady --rate 1000', 'steady --rate 1000'],
    ['steady --json --out /home/me/results --rate 1000', 'steady --rate 1000'],
    ['steady --rate 1000 --out=results --profile profiles --repeats 3', 'steady --rate 1000 --repeats 3'],
  ])('%s: makes it again, and names no folder of whoever made it', (given, kept) => {
    expect(commandOf(given.split(' '))).toBe(`npm run bench -- ${kept}`)
  })
})

describe('what the host keeps from the machine', () => {
  const at = (times: object) => ({ user: 0, nice: 0, system: 0, irq: 0, softirq: 0, steal: 0, ...times })

  it('is a part of the time that was wanted, idle time aside', () => {
    const before = { ...at({ user: 100, steal: 50 }), idle: 0, iowait: 0 }
    const after = { ...at({ user: 160, system: 20, irq: 5, softirq: 5, steal: 60 }), idle: 900, iowait: 300 }
    expect(stolenBetween(before, after)).toBe(10)
    expect(stolenBetween(before, before)).toBe(0)
  })

  it.each([
    [false, 0.4, false],
    [false, 9, true],
    [true, 0, true],
    [false, null, false],
  ])('makes figures doubtful where it is much: busy at first %s, %s percent', (busy, stolen, doubtful) => {
    expect(withStolen({ cores: 2, busy }, stolen)).toEqual({ cores: 2, stolen, busy: doubtful })
  })
})

describe('memory that is free', () => {
  const MB = 2 ** 20
  const free = (...left: number[]) => {
    const said = [...left]
    return () => (said.length > 1 ? said.shift() : said[0]) ?? 0
  }
  const filled = async (...left: number[]) => {
    const folder = mkdtempSync(join(tmpdir(), 'carillon-memory-'))
    const path = join(folder, 'nothing')
    const filler = new MemoryFiller(path, free(...left))
    try {
      const first = await filler.fill()
      const second = await filler.fill()
      const { size, blocks } = statSync(path)
      return { first, second, size, blocks }
    } finally {
      filler.close()
      rmSync(folder, { recursive: true })
    }
  }

  it('is read from what the kernel says', () => {
    expect(freeBytesIn('MemTotal:       24683520 kB\nMemFree:         1024 kB\nMemAvailable:   9 kB\n')).toBe(
      MB,
    )
    expect(freeBytesIn('')).toBe(0)
  })

  it('is dear where a new page takes microseconds', () => {
    expect([isDear(0.4), isDear(1), isDear(1.9), isDear(null)]).toEqual([false, false, true, false])
    if (process.platform === 'linux') expect(freshPageUs(MB)).toBeGreaterThan(0)
    else expect(freshPageUs(MB)).toBeNull()
  })

  it('is filled until little is left, from a file that takes no room', async () => {
    // Asked once for how much room there is, then before each step.
    const { first, size, blocks } = await filled(400 * MB, 396 * MB, 392 * MB, 384 * MB)
    expect({ first, size, blocks }).toEqual({ first: 8 * MB, size: 8 * MB, blocks: 0 })
  })

  it('goes on with pages that were not read before, and ends although nothing gets less', async () => {
    expect(await filled(388 * MB)).toEqual({ first: 4 * MB, second: 4 * MB, size: 8 * MB, blocks: 0 })
    expect((await filled(100 * MB)).size).toBe(0)
  })
})
