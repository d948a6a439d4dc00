import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { fakeApi } from '../test/support/fake-api.js'

/** Small comforts of the command line, each against a server of canned answers. */
let api: Awaited<ReturnType<typeof fakeApi>>

beforeAll(async () => {
  vi.stubEnv('XDG_CONFIG_HOME', '/nonexistent')
  vi.stubEnv('DATABASE_URL', undefined)
  api = await fakeApi()
})
afterAll(() => {
  api.close()
  vi.unstubAllEnvs()
})

const id = 'job_00000000000000000000000000'

describe('a range', () => {
  const count = { ticks: 0, first: null, last: null, excluded_done: 0, estimated_seconds: 0 }

  it('of a backfill begins with a date in the zone of the job, and ends now', async () => {
    api.answer({ [`POST /jobs/${id}/backfills`]: count })
    const before = Date.now()
    await api.speak('jobs', 'backfill', id, '--from', '2026-11-01', '--dry-run')
    const { from, to } = api.seen[0]?.body as { from: string; to: string }
    expect(from).toBe('2026-11-01T00:00')
    expect(Date.parse(to)).toBeGreaterThanOrEqual(before)
  })

  it('of a verification is the last 24 hours where nothing is said', async () => {
    api.answer({})
    const before = Date.now()
    await api.speak('verify')
    const from = api.seen.map(({ query }) => query.get('from') ?? '')[0] ?? ''
    expect(before - Date.parse(from)).toBeLessThanOrEqual(86_400_000)
    expect(before - Date.parse(from)).toBeGreaterThan(86_300_000)
  })
})
