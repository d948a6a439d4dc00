import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { bin, carillon, jsonOf, newFolder, removeFolder, run } from './support/carillon.js'

interface Ticks {
  ticks: { at: string; local: string; note: string | null }[]
  description: string
  warnings: string[]
}

const madrid = ['--tz', 'Europe/Madrid'] as const
const october = ['next', '30 2 * * *', ...madrid, '--from', '2026-10-24T00:00:00Z'] as const

async function ticksOf(...args: string[]): Promise<Ticks> {
  const ended = await carillon([...args, '--json'])
  expect(ended.stderr).toBe('')
  expect(ended.code).toBe(0)
  return jsonOf<Ticks>(ended)
}

describe('carillon next --json', () => {
  it('prints the ticks with what the clocks do to them', async () => {
    expect((await ticksOf(...october, '-n', '5')).ticks).toEqual([
      { at: '2026-10-24T00:30:00Z', local: '2026-10-24T02:30:00+02:00', note: null },
      {
        at: '2026-10-25T00:30:00Z',
        local: '2026-10-25T02:30:00+02:00',
        note: '02:30 happens twice; runs once (first)',
      },
      { at: '2026-10-26T01:30:00Z', local: '2026-10-26T02:30:00+01:00', note: null },
      { at: '2026-10-27T01:30:00Z', local: '2026-10-27T02:30:00+01:00', note: null },
      { at: '2026-10-28T01:30:00Z', local: '2026-10-28T02:30:00+01:00', note: null },
    ])
  })

  it('has both instants of a time shown twice with --dst-overlap both', async () => {
    const { ticks } = await ticksOf(...october, '--dst-overlap', 'both')
    expect(ticks.map(({ at }) => at)).toEqual([
      '2026-10-24T00:30:00Z',
      '2026-10-25T00:30:00Z',
      '2026-10-25T01:30:00Z',
      '2026-10-26T01:30:00Z',
      '2026-10-27T01:30:00Z',
    ])
  })

  it('has no tick in a gap with --dst-gap skip, and says so', async () => {
    const from = ['--from', '2026-03-28T12:00:00Z', '-n', '1']
    const skipped = await ticksOf('next', '30 2 * * *', ...madrid, ...from, '--dst-gap', 'skip')
    expect(skipped.ticks).toEqual([
      {
        at: '2026-03-30T00:30:00Z',
        local: '2026-03-30T02:30:00+02:00',
        note: 'skipped 02:30 on 2026-03-29: the clocks jump over it',
      },
    ])
    const after = await ticksOf('next', '30 2 * * *', ...madrid, ...from, '--dst-gap', 'run-after')
    expect(after.ticks[0]).toMatchObject({ at: '2026-03-29T01:00:00Z' })
  })

  it.each([
    ['an interval', ['@every 5m'], '2026-10-24T00:05:00Z'],
    ['an instant', ['2026-12-01T09:00:00+01:00'], '2026-12-01T08:00:00Z'],
    [
      'a recurrence rule',
      ['RRULE:FREQ=MONTHLY;BYDAY=-1FR', '--dtstart', '2026-01-01T09:00'],
      '2026-10-30T09:00:00Z',
    ],
    ['JSON of several rules', ['[{"cron":"0 9 * * *"},"0 3 * * *"]'], '2026-10-24T03:00:00Z'],
    ['both day fields', ['0 9 13 * FRI', '--day-match', 'and'], '2026-11-13T09:00:00Z'],
    ['an excluded date', ['0 9 * * *', '--exclude', '2026-10-24'], '2026-10-25T09:00:00Z'],
    [
      'an excluded date that moves',
      ['0 9 24 * *', '--exclude', '2026-10-24', '--on-excluded', 'next-business-day'],
      '2026-10-26T09:00:00Z',
    ],
  ])('takes %s', async (_what, args, first) => {
    const { ticks } = await ticksOf('next', ...args, '--from', '2026-10-24', '-n', '1')
    expect(ticks.map(({ at }) => at)).toEqual([first])
  })

  it('shows five ticks after now in UTC', async () => {
    const before = Date.now()
    const { ticks } = await ticksOf('next', '* * * * *')
    expect(ticks).toHaveLength(5)
    expect(Date.parse(ticks[0]?.at ?? '')).toBeGreaterThan(before - 1000)
    expect(ticks[0]?.local).toMatch(/\+00:00$/)
  })
})

describe('carillon next', () => {
  it('reads the schedule back in plain words above a table', async () => {
    const { code, stdout, stderr } = await carillon([...october, '-n', '2'])
    expect(stdout.split('\n')).toEqual([
      'At 02:30 every day · Europe/Madrid · dst: gap=run_after overlap=first',
      'DAY  LOCAL (Europe/Madrid)    UTC                NOTE',
      'Sat  2026-10-24 02:30 +02:00  2026-10-24 00:30Z',
      'Sun  2026-10-25 02:30 +02:00  2026-10-25 00:30Z  ⚠ 02:30 happens twice; runs once (first)',
      '',
    ])
    expect(stderr).toBe('')
    expect(code).toBe(0)
  })

  it('warns where two day fields widen the choice', async () => {
    const { stdout } = await carillon(['next', '0 9 13 * FRI'])
    expect(stdout).toContain('"+FRI"')
  })

  it.each([
    ['a field that is none', '61 * * * *', ["'61'", 'character 1', 'invalid_schedule', '/schedule']],
    ['a day that never comes', '0 0 30 2 *', ['February', 'schedule_never_fires', '"L"']],
    ['JSON of no rule', '{"cron":5}', ['invalid_schedule', '/schedule/cron']],
  ])('refuses %s with the reason and a repair', async (_what, schedule, said) => {
    const { code, stdout, stderr } = await carillon(['next', schedule, '--json'])
    const { error } = JSON.parse(stderr) as { error: { message: string } }
    for (const words of said) expect(error.message).toContain(words)
    expect(stderr).not.toContain('    at ')
    expect(stdout).toBe('')
    expect(code).toBe(1)
  })

  it.each([
    ['an unknown zone', ['--timezone', 'Europe/Madrd'], '--timezone: Did you mean "Europe/Madrid"'],
    ['an unknown zone by its short flag', ['--tz', 'Europe/Madrd'], 'Europe/Madrid'],
    ['a beginning that is none', ['--from', 'yesterday'], '--from'],
    ['no ticks', ['-n', '0'], '--count is 0'],
    ['too many ticks', ['-n', '1001'], '1 to 1000'],
    ['an unknown policy', ['--dst-gap', 'jump'], 'run_after or skip'],
    ['an excluded date that is none', ['--exclude', '2026-13-01'], '--exclude'],
    ['a start of no recurrence rule', ['--dtstart', '2026-01-01T09:00'], 'RRULE'],
  ])('refuses %s as wrong usage', async (_what, flags, said) => {
    const { code, stdout, stderr } = await carillon(['next', '0 9 * * *', ...flags])
    expect(stderr).toContain(said)
    expect(stdout).toBe('')
    expect(code).toBe(2)
  })

  it('loads nothing of the server but its time engine', async () => {
    const folder = newFolder()
    try {
      const imports = join(folder, 'imports')
      const hook = new URL('./support/record-imports.mjs', import.meta.url).href
      await run(process.execPath, ['--import', hook, bin, 'next', '0 9 * * *'], {
        env: { IMPORTS_FILE: imports },
      })
      const loaded = readFileSync(imports, 'utf8')
      expect(loaded).toContain('server/dist/time/index.js')
      expect(loaded).not.toMatch(/\/(pg|fastify|undici|pino|croner)\/|server\/dist\/(index|main)\.js/)
    } finally {
      removeFolder(folder)
    }
  })
})
