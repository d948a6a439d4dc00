import type { Why } from '@carillon/contract'
import { describe, expect, test } from 'vitest'
import { parkedUntil } from '../../src/pipeline/parked.js'
import { explain, knownReasons } from '../../src/pipeline/account/reasons.js'
import { type HandMadeJob, minute, useHandMade } from '../kit/hand-made.js'
import { testEpoch } from '../kit/test-clock.js'
import { utcText } from '../../src/time/iso-text.js'

const hand = useHandMade()
const iso = (minutes: number) => utcText(minute(minutes))
const containing = (text: string) => expect.stringContaining(text) as string

function why(job: HandMadeJob, at: number | string): Promise<Why> {
  return hand().account.why(1, job.job_id, typeof at === 'number' ? iso(at) : at)
}

/** A tick a minute; the cursor stands at the sixth, and the clock half a minute after the fifth. */
async function minutely(options: Parameters<ReturnType<typeof hand>['job']>[0] = {}): Promise<HandMadeJob> {
  const job = await hand().job({ accountedThrough: minute(5), due: minute(6), ...options })
  await hand().clock.stepDatabase(minute(5.5) - (await hand().clock.databaseNow()))
  return job
}

describe('a tick that ran', () => {
  test('says on time, with its attempts, its version and its times', async () => {
    const job = await minutely()
    const lost = { final: false, outcome: 'failed', reason: 'task_error', error: 'boom' }
    await hand().ledger(job, minute(2), lost)
    await hand().ledger(job, minute(2), {
      attempt: 2,
      available_at: minute(3),
      started_at: minute(3),
      worker: 7,
    })
    const answer = await why(job, 2)
    expect(answer).toMatchObject({
      verdict: 'ran',
      doubled: false,
      summary: 'Ran on time: succeeded in attempt 2 of 4.',
      reason: null,
      at: iso(2),
      before: iso(1),
      after: iso(3),
      segment: { version: 1, from: utcText(testEpoch), to: null },
      start_at: iso(2),
      fired_at: iso(2),
      range: null,
      replay: null,
    })
    expect(answer.attempts).toMatchObject([
      { attempt: 1, outcome: 'failed', final: false, reason: 'task_error', error: 'boom', worker: null },
      { attempt: 2, outcome: 'success', final: true, started_at: iso(3), worker: containing('node_') },
    ])
  })

  test('late says by how much', async () => {
    const job = await minutely()
    await hand().ledger(job, minute(2), { started_at: minute(2) + 90_000 })
    expect(await why(job, 2)).toMatchObject({
      verdict: 'late',
      summary: 'Ran late, 1 min 30 s after its time: succeeded in attempt 1 of 4.',
      todo: containing('carillon cluster'),
    })
  })

  test('after it had been missed says caught up', async () => {
    const job = await minutely()
    await hand().ledger(job, minute(2), { catch_up: true, available_at: minute(5), started_at: minute(5) })
    expect(await why(job, 2)).toMatchObject({ verdict: 'caught_up', summary: containing('Caught up') })
  })

  test('and failed says how, why and what to do', async () => {
    const job = await minutely()
    const end = { outcome: 'dead', attempt: 4, reason: 'http_status', error: 'answered 500' }
    await hand().ledger(job, minute(2), end)
    expect(await why(job, 2)).toMatchObject({
      verdict: 'ran',
      reason: 'http_status',
      summary:
        'Ran on time: ended as dead in attempt 4 of 4: the target answered with a status that is no success (answered 500).',
      todo: containing('target'),
    })
  })

  test('and is on record twice says so', async () => {
    const job = await minutely()
    await hand().ledger(job, minute(2))
    await hand().ledger(job, minute(2))
    expect(await why(job, 2)).toMatchObject({ verdict: 'ran', doubled: true })
  })
})

describe('a tick that was not run', () => {
  test.each(['missed', 'overlap', 'paused', 'overload', 'deleted', 'job_deleted', 'edited', 'max_runs'])(
    'says the reason %s in words',
    async (reason) => {
      const job = await minutely()
      await hand().skipped(job, minute(2), reason)
      const answer = await why(job, 2)
      expect(answer).toMatchObject({ verdict: 'skipped', reason })
      expect(answer.summary).toContain(`Not run (${reason}): ${explain(reason).words}`)
      expect(answer.todo).toBe(explain(reason).todo)
      expect(answer.attempts).toEqual([])
    },
  )

  test('every word that has an explanation has one of its own', () => {
    expect(knownReasons.length).toBeGreaterThan(25)
    for (const reason of knownReasons)
      expect(explain(reason).words).not.toContain(reason === 'failed' ? '"' : `"${reason}"`)
    expect(explain('constructor').words).toContain('"constructor"')
  })

  test('with many others names the range that stands for them', async () => {
    const job = await minutely()
    await hand().skipped(job, minute(1), 'missed', { due_to: minute(4), ticks: 4 })
    const answer = await why(job, 3)
    expect(answer).toMatchObject({ verdict: 'skipped', range: { from: iso(1), to: iso(4), ticks: 4 } })
    expect(answer.summary).toContain('one of 4 ticks from 2026-11-02T12:01:00Z to 2026-11-02T12:04:00Z')
    expect((await why(job, 5)).verdict).toBe('unaccounted')
  })

  test('because of an overlap names the run in its way, ended or not', async () => {
    const job = await minutely()
    await hand().ledger(job, minute(1), { finished_at: minute(2.5), recorded_at: minute(2.5) })
    await hand().skipped(job, minute(2), 'overlap')
    expect((await why(job, 2)).summary).toContain(
      '(that of 2026-11-02T12:01:00Z, which ended at 2026-11-02T12:02:30Z)',
    )
    await hand().queued(job, minute(3), { holder: 1, token: 1, leased_at: minute(3) })
    await hand().skipped(job, minute(4), 'overlap')
    expect((await why(job, 4)).summary).toContain('(that of 2026-11-02T12:03:00Z, which still goes on)')
  })

  test('and was replaced before it began is cancelled', async () => {
    const job = await minutely()
    await hand().ledger(job, minute(2), {
      outcome: 'cancelled',
      reason: 'replaced',
      started_at: null,
      finished_at: null,
    })
    expect(await why(job, 2)).toMatchObject({
      verdict: 'skipped',
      reason: 'replaced',
      summary: containing('Cancelled (replaced)'),
    })
  })

  test('and has no record at all is unaccounted, in these words', async () => {
    const job = await minutely()
    expect(await why(job, 2)).toMatchObject({
      verdict: 'unaccounted',
      summary: containing('Unaccounted'),
      todo: containing('verify'),
    })
  })
})

describe('a tick on its way', () => {
  test.each([
    ['waits for a worker', {}, 'waiting_for_worker', 'waits for a worker'],
    ['waits for a place', { places: 1, slot: null }, 'waiting_for_overlap_place', 'earlier run'],
    ['waits in the waiting place', { places: 1, slot: -1 }, 'waiting_for_overlap_place', 'earlier run'],
    ['is running', { holder: 7, token: 1, leased_at: minute(2) }, 'running', 'it is running'],
    [
      'was asked to cancel',
      { holder: 7, token: 1, leased_at: minute(2), cancel_requested: true },
      'cancel_requested',
      'asked to cancel',
    ],
    [
      'waits for a retry',
      { attempt: 2, available_at: minute(9), last_error: 'boom' },
      'waiting_for_retry',
      'at 2026-11-02T12:09:00Z; the last attempt: boom',
    ],
  ])('%s, and says so', async (_what, fields, reason, words) => {
    const job = await minutely()
    await hand().insert('incarnations', {
      incarnation: 7,
      host: 'h',
      pid: 1,
      roles: ['worker'],
      tasks: ['task'],
      code_version: '1',
      state: 'alive',
      beat: 1,
      beat_at: 1,
      session_lock: false,
      started_at: 1,
      report: {},
    })
    await hand().queued(job, minute(2), fields)
    expect(await why(job, 2)).toMatchObject({
      verdict: 'in_flight',
      reason,
      summary: containing(words),
      fired_at: iso(2),
    })
  })

  test('of a paused job, which it had before the pause, says that it goes on', async () => {
    const job = await minutely({ state: 'paused', due: null })
    await hand().queued(job, minute(2), { available_at: parkedUntil })
    expect(await why(job, 2)).toMatchObject({
      verdict: 'in_flight',
      reason: 'job_paused',
      todo: 'Resume the job.',
    })
  })

  test('that no worker serves names the task', async () => {
    const job = await minutely()
    await hand().queued(job, minute(2))
    expect(await why(job, 2)).toMatchObject({
      reason: 'no_worker_for_task',
      summary: containing('serves its task "task"'),
      todo: containing('--tasks'),
    })
  })

  test('in a catch-up says its position and pace', async () => {
    const job = await minutely()
    const range = { from_ms: minute(1), to_ms: minute(5), cursor_ms: minute(2), done: 1, total: 5 }
    await hand().replay(job, { ...range, per_minute: 30 })
    expect(await why(job, 4)).toMatchObject({
      verdict: 'in_flight',
      reason: 'missed',
      summary:
        'Waits in a catch-up (missed): 2 of its ticks come before this one; catching up at 30 a minute, one after another; 1 of 5 done.',
      replay: { position: 2, done: 1, total: 5, per_minute: 30, state: 'running', from: iso(1), to: iso(5) },
    })
    await hand().database.query("UPDATE carillon.replays SET state = 'paused', per_minute = NULL")
    expect(await why(job, 4)).toMatchObject({
      summary: containing('paused with its job'),
      todo: 'Resume the job.',
    })
  })

  test('that is due and not fired yet says for how long', async () => {
    const job = await minutely({ accountedThrough: minute(3), due: minute(4) })
    expect(await why(job, 4)).toMatchObject({
      verdict: 'pending',
      summary: 'Due for 1 min 30 s, and not fired yet.',
    })
  })

  test('that starts later by its window says when', async () => {
    const job = await minutely({ accountedThrough: minute(4), due: minute(5), startAt: minute(7) })
    expect(await why(job, 5)).toMatchObject({
      verdict: 'pending',
      start_at: iso(7),
      summary: containing('starts at 2026-11-02T12:07:00Z'),
      todo: null,
    })
  })

  test('of a paused job is not decided yet', async () => {
    const job = await minutely({ state: 'paused', accountedThrough: minute(1), due: null })
    await hand().database.query("UPDATE carillon.jobs SET pause_reason = 'migration', paused_until = $1", [
      minute(60),
    ])
    expect(await why(job, 3)).toMatchObject({
      verdict: 'paused',
      reason: 'paused',
      summary: containing('(migration); it resumes by itself at 2026-11-02T13:00:00Z'),
    })
    expect(await why(job, 9)).toMatchObject({
      verdict: 'future',
      reason: 'paused',
      summary: containing('only if the job is resumed'),
    })
  })

  test('that is still ahead says when it starts, staged or not', async () => {
    const job = await minutely()
    expect(await why(job, 7)).toMatchObject({
      verdict: 'future',
      summary: 'Still ahead: it starts in 1 min 30 s, at 2026-11-02T12:07:00Z.',
    })
    const spread = await minutely({ fire_window_seconds: 3_600 })
    expect((await why(spread, 7)).summary).toContain('by jitter and fire window')
    await hand().queued(job, minute(6))
    expect(await why(job, 6)).toMatchObject({
      verdict: 'in_flight',
      reason: 'staged',
      summary: containing('at 2026-11-02T12:06:00Z'),
    })
  })
})
