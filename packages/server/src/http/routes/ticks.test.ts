import { beforeEach, describe, expect, it } from 'vitest'
import { httpOptions, MemoryPorts } from '../../../test/kit/http-ports.js'
import { buildApp } from '../app.js'

describe('single ticks, backfills and the load', () => {
  const ports = new MemoryPorts()
  const { app } = buildApp(httpOptions({ api: ports }))
  let jobId = ''
  const post = (url: string, payload: object) => app.inject({ method: 'POST', url: `/api/v1${url}`, payload })
  const get = (url: string) => app.inject(`/api/v1${url}`)
  const at = '2026-12-01T09:00:00Z'

  beforeEach(async () => {
    const target = { type: 'http', url: 'https://example.com/' }
    const job = await post('/jobs', { name: 'job', schedule: '0 9 * * *', target })
    jobId = job.json<{ job_id: string }>().job_id
    ports.ticks.asked.length = 0
  })

  it('lists ticks, ten unless told otherwise', async () => {
    const { data } = (await get(`/jobs/${jobId}/ticks`)).json<{ data: unknown[] }>()
    expect(data).toMatchObject([{ state: 'planned' }])
    await get(`/jobs/${jobId}/ticks?count=3&from=${at}`)
    expect(ports.ticks.asked).toEqual([
      { list: { from: undefined, count: 10 } },
      { list: { from: at, count: 3 } },
    ])
    expect((await get(`/jobs/${jobId}/ticks?count=1001`)).statusCode).toBe(422)
    expect((await get(`/jobs/${jobId}/ticks?limit=1`)).json()).toMatchObject({ code: 'unknown_field' })
  })

  it('hands over what is asked of a tick, and refuses what is missing or unknown', async () => {
    expect((await post(`/jobs/${jobId}/ticks/skip`, { at, reason: 'holiday' })).json()).toMatchObject({
      state: 'skipped',
    })
    expect((await post(`/jobs/${jobId}/ticks/move`, { at, to: at })).json()).toMatchObject({ state: 'moved' })
    expect((await post(`/jobs/${jobId}/ticks/restore`, { at })).json()).toMatchObject({ state: 'planned' })
    expect(ports.ticks.asked).toEqual([
      { skip: { at, reason: 'holiday' } },
      { move: { at, to: at } },
      { restore: { at } },
    ])
    expect((await post(`/jobs/${jobId}/ticks/skip`, {})).json()).toMatchObject({ code: 'validation_failed' })
    expect((await post(`/jobs/${jobId}/ticks/skip`, { at, until: at })).json()).toMatchObject({
      code: 'unknown_field',
    })
    expect((await post('/jobs/job_none/ticks/skip', { at })).statusCode).toBe(404)
  })

  it('counts first with dry_run, and begins a backfill without it', async () => {
    const range = { from: at, to: at }
    const dry = await post(`/jobs/${jobId}/backfills`, { ...range, dry_run: true })
    expect([dry.statusCode, dry.json()]).toMatchObject([200, { ticks: 2, excluded_done: 1 }])
    expect(ports.backfills.stored.size).toBe(0)
    const begun = await post(`/jobs/${jobId}/backfills`, { ...range, per_minute: 5 })
    expect([begun.statusCode, begun.json()]).toMatchObject([202, { state: 'running', per_minute: 5 }])
    const { backfill_id: id } = begun.json<{ backfill_id: string }>()
    expect((await get(`/backfills/${id}`)).json()).toMatchObject({ backfill_id: id })
    expect((await get('/backfills')).json()).toMatchObject({ data: [{ backfill_id: id }], next_cursor: null })
    expect((await get(`/jobs/${jobId}/backfills`)).json()).toMatchObject({ data: [{ backfill_id: id }] })
    expect((await post(`/backfills/${id}/cancel`, {})).json()).toMatchObject({ state: 'cancelled' })
    expect((await post(`/backfills/${id}/cancel`, {})).json()).toMatchObject({ code: 'backfill_ended' })
    expect((await get('/backfills/bf_0000000000zzz')).statusCode).toBe(404)
    expect((await post(`/jobs/${jobId}/backfills`, { ...range, per_minute: 601 })).statusCode).toBe(422)
  })

  it('forecasts by the minute unless told otherwise', async () => {
    expect((await get('/load/forecast')).json()).toMatchObject({ by: 'minute', sampled: false })
    await get('/load/forecast?by=hour&target=task:mail')
    expect(ports.load.asked).toMatchObject([{ by: 'minute' }, { by: 'hour', target: 'task:mail' }])
    expect((await get('/load/forecast?by=day')).statusCode).toBe(422)
    expect((await get('/load/suggestion')).json()).toMatchObject({ suggestions: [] })
  })
})
