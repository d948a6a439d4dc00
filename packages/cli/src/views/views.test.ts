import type { Job, Run } from '@carillon/sdk'
import pc from 'picocolors'
import { describe, expect, it } from 'vitest'
import type { Look } from '../output/look.js'
import { jobDetails, jobTable } from './jobs.js'
import { banner } from './banner.js'
import { runLine } from './run-line.js'
import { runTable } from './runs.js'
import { paintStatus, statusText } from './status.js'

const look: Look = {
  colors: pc.createColors(false),
  width: 200,
  now: new Date('2026-12-01T08:57:00Z'),
  timeZone: 'UTC',
}

const job: Job = {
  job_id: 'job_01m7geppjreeban5qbbrmj9zpm',
  name: 'report',
  description: null,
  tags: [],
  managed_by: null,
  last_run_at: null,
  last_run_status: null,
  cancelled_at: null,
  cancel_reason: null,
  state: 'active',
  version: 1,
  schedule: '0 9 * * 1',
  timezone: 'Europe/Madrid',
  dst_gap: 'run_after',
  dst_overlap: 'first',
  exclude: [],
  on_excluded: 'exclude',
  starts_at: null,
  ends_at: null,
  max_runs: null,
  jitter_seconds: 0,
  fire_window_seconds: 0,
  next_run_at: '2026-12-01T09:00:00.000Z',
  target: { type: 'http', url: 'https://example.com/r', headers: { Authorization: 'Bearer hunter2' } },
  payload: { week: 1 },
  idempotency_key_template: '{{date}}',
  max_retries: 3,
  retry_backoff: 'linear',
  missed_window: 'RUN_ALL',
  max_missed: 7,
  misfire_grace_seconds: 3_600,
  overlap_policy: 'ALLOW',
  max_concurrent: 3,
  priority: 5,
  timeout_seconds: 30,
  paused_at: null,
  pause_reason: null,
  paused_until: null,
  created_at: '2026-11-01T09:00:00.000Z',
  updated_at: '2026-11-01T09:00:00.000Z',
  ended_at: null,
  warnings: [{ code: 'no_worker_for_task', message: 'nobody\u001b serves it' }],
}

const run: Run = {
  run_id: 'run_0g38f0yy200k000000000200000000',
  job_id: job.job_id,
  scheduled_at: '2026-12-01T08:00:00.000Z',
  available_at: '2026-12-01T08:00:00.000Z',
  started_at: '2026-12-01T08:00:00.012Z',
  finished_at: '2026-12-01T08:00:01.512Z',
  duration_ms: 1_500,
  status: 'success',
  attempt: 1,
  max_attempts: 4,
  error: null,
  reason: null,
  result: null,
  catch_up: false,
  version: 1,
  fencing_token: 1,
  worker: null,
  skipped_until: null,
  skipped_count: null,
}

describe('jobTable', () => {
  it('shows a job in a line', () => {
    expect(jobTable([job], look)).toBe(
      [
        'NAME    STATE     SCHEDULE                 NEXT RUN (UTC)                  TARGET                      ID',
        'report  ● active  0 9 * * 1 Europe/Madrid  2026-12-01 09:00:00 (in 3 min)  POST https://example.com/r  job_01m7geppjreeban5qbbrmj9zpm',
        '',
      ].join('\n'),
    )
  })

  it('keeps names harmless and in one line', () => {
    const table = jobTable([{ ...job, name: 'a\u001b[31m\nb' }], look)
    expect(table).toContain('a\\u001b[31m\\nb')
    expect(table.split('\n')).toHaveLength(3)
  })

  it('fits into 80 columns and keeps the time whole', () => {
    const table = jobTable([{ ...job, name: 'n'.repeat(200) }], { ...look, width: 80 })
    for (const line of table.split('\n')) expect(line.length).toBeLessThanOrEqual(80)
    expect(table).toContain('2026-12-01 09:00:00 (in 3 min)')
  })
})

describe('jobDetails', () => {
  it('shows policies in words and warnings below', () => {
    const text = jobDetails(job, look)
    expect(text).toMatch(/^Missed ticks +RUN_ALL, 7 at most, not after 1 h 0 min$/m)
    expect(text).toMatch(/^Retries +3, linear backoff$/m)
    expect(text).toMatch(/^Payload +{"week":1}$/m)
    expect(text).toMatch(/^! nobody\\u001b serves it \(no_worker_for_task\)$/m)
  })

  it('names headers and keeps their values to itself', () => {
    expect(jobDetails(job, look)).toContain('Authorization')
    expect(jobDetails(job, look)).not.toContain('hunter2')
  })
})

describe('runTable', () => {
  it('shows how late a run started and how long it took', () => {
    expect(runTable([run], look)).toMatch(/08:00:00 \(57 min ago\) +✓ success +1 of 4 +12 ms +1\.5 s/)
  })

  it('says why a run was caught up and failed', () => {
    const failed: Run = { ...run, status: 'dead', catch_up: true, reason: 'http_status', error: 'HTTP 500' }
    expect(runTable([failed], look)).toMatch(/✗ dead .*caught up; http_status; HTTP 500 /)
  })

  it('shows the first line of an error with its stack, also where lines are never cut', () => {
    const stack = 'Error: no way\n    at work (tasks.mjs:3:9)\n'
    const table = runTable([{ ...run, status: 'dead', error: stack }], { ...look, width: Infinity })
    expect(table).toMatch(/Error: no way … {2}run_/)
    expect(runLine({ ...run, error: stack }, look)).toMatch(/Error: no way …\n$/)
  })

  it('names the job, and keeps the id of the run on a narrow terminal, where other columns go', () => {
    const failed: Run = { ...run, status: 'dead', error: 'x'.repeat(200) }
    for (const nameOf of [undefined, () => 'a job with rather a long name']) {
      const table = runTable([failed], { ...look, width: 80 }, nameOf)
      for (const line of table.split('\n')) expect(line.length).toBeLessThanOrEqual(80)
      expect(table).toContain(run.run_id)
      expect(table).toContain('2026-12-01 08:00:00')
    }
    expect(runTable([failed], { ...look, width: 80 })).toMatch(/^SCHEDULED \(UTC\) +STATUS +WHY +ID\n/)
    expect(runTable([run], look, () => 'report')).toMatch(/^JOB.*\nreport /)
  })

  it('shows a gap as one row with its ticks', () => {
    const gap: Run = {
      ...run,
      status: 'skipped',
      attempt: 0,
      started_at: null,
      finished_at: null,
      reason: 'missed',
      skipped_count: 12,
      skipped_until: '2026-12-01T08:12:00.000Z',
    }
    expect(runTable([gap], look)).toMatch(/» skipped +– +– +– +missed; 12 ticks until 2026-12-01 08:12:00/)
  })
})

describe('statusText', () => {
  it('has a symbol for a status of a newer server, too', () => {
    expect(statusText('parked')).toBe('? parked')
  })

  it('is coloured only where colours are wanted', () => {
    expect(paintStatus('x', 'failed', pc.createColors(true))).toBe('\u001b[31mx\u001b[39m')
    expect(paintStatus('x', 'failed', pc.createColors(false))).toBe('x')
  })
})

describe('banner', () => {
  const started = {
    url: 'http://127.0.0.1:7420',
    postgres: 'embedded',
    reach: 'public addresses',
    tasks: [],
    version: '0.1.0',
    roles: ['api'],
    allowCommands: false,
    tookMs: 1_600,
    isFirst: true,
  }

  it('shows how to begin as long as there is no job', () => {
    expect(banner(started)).toContain('Try: ')
    expect(banner({ ...started, isFirst: false })).not.toContain('Try: ')
  })

  it('says whether jobs may run commands', () => {
    expect(banner(started)).toMatch(/Commands +not allowed \(--allow-commands/)
    expect(banner({ ...started, allowCommands: true })).toMatch(/Commands +allowed:/)
  })
})
