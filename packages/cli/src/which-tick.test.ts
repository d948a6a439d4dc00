import type { Why } from '@carillon/sdk'
import { describe, expect, it } from 'vitest'
import { whyOf } from './which-tick.js'

const now = new Date('2026-11-16T08:00:00Z')

/** Answers as a job of every full hour in Madrid (one hour ahead) would. */
async function asked(at: string | undefined): Promise<string[]> {
  const instants: string[] = []
  await whyOf(at, now, (instant) => {
    instants.push(instant)
    const onTick = instant === '2026-11-16T07:00:00.000Z'
    const why = {
      verdict: onTick ? 'ran' : 'no_tick',
      before: '2026-11-16T07:00:00.000Z',
      timezone: 'Europe/Madrid',
    }
    return Promise.resolve(why as Why)
  })
  return instants
}

describe('whyOf', () => {
  it('means the latest tick where nothing is said', async () => {
    expect(await asked(undefined)).toEqual(['2026-11-16T08:00:00.000Z', '2026-11-16T07:00:00.000Z'])
  })

  it('means the latest tick of so long ago', async () => {
    expect(await asked('2m')).toEqual(['2026-11-16T07:58:00.000Z', '2026-11-16T07:00:00.000Z'])
  })

  it('asks no second time where the instant is a tick', async () => {
    expect(await asked('1h')).toEqual(['2026-11-16T07:00:00.000Z'])
  })

  it.each([
    ['08:59', '2026-11-16T08:59'],
    ['9:00', '2026-11-16T09:00'],
    ['09:00:01', '2026-11-15T09:00:01'],
    ['09:21', '2026-11-15T09:21'],
  ])('takes %s as the latest on the clocks of the job', async (at, instant) => {
    expect((await asked(at)).at(-1)).toBe(instant)
  })

  it.each([
    ['2026-11-16T02:30', '2026-11-16T02:30'],
    ['2026-11-16', '2026-11-16T00:00'],
  ])('takes %s as it is, and shows what is there', async (at, instant) => {
    expect(await asked(at)).toEqual([instant])
  })
})
