import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { DeadLetterDetail, DeadLetterList, Job, Redrive, Run, RunDetail } from '@carillon/sdk'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { carillon, type Ended, jsonOf, startServer, type TestServer, until } from './support/carillon.js'

let server: TestServer
let hook: Server
let hookUrl: string
/** What the webhook answers, and what it was sent. */
let status = 500
const seen: { key: string; body: { payload: unknown; scheduled_at: string } }[] = []

beforeAll(async () => {
  server = await startServer()
  hook = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as (typeof seen)[number]['body']
      seen.push({ key: String(request.headers['idempotency-key']), body })
      if (status > 0) response.writeHead(status).end('no such account')
    })
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => hook.once('listening', resolve))
  hookUrl = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/`
})

afterAll(async () => {
  hook.closeAllConnections()
  hook.close()
  expect((await server.stop()).code).toBe(0)
})

/** Looks again and again until it is so. */
async function so(look: () => Promise<boolean>): Promise<void> {
  await until(async () => (await look()) || null)
}

function speak(...args: string[]): Promise<Ended> {
  return carillon(args, { env: { CARILLON_URL: server.url } })
}

/** A job whose only tick is now. */
async function once(name: string, ...flags: string[]): Promise<Job> {
  const at = new Date().toISOString()
  const args = ['jobs', 'create', name, '--schedule', at, '--http', hookUrl, '--max-retries', '0', '--json']
  return jsonOf<Job>(await speak(...args, ...flags))
}

async function letters(job: Job): Promise<DeadLetterList['data']> {
  return jsonOf<DeadLetterList>(await speak('dead-letters', 'list', '--job', job.job_id, '--json')).data
}

async function deadOne(name: string, ...flags: string[]): Promise<{ job: Job; run: string }> {
  const job = await once(name, ...flags)
  await so(async () => (await letters(job)).length === 1)
  return { job, run: (await letters(job))[0]?.run_id ?? '' }
}

describe('a webhook that answers 500', () => {
  it('leaves a dead letter that is seen, understood, corrected and run again, with its key and its tick', async () => {
    status = 500
    const { job, run } = await deadOne('invoice', '--payload', '{"account":7}')
    const list = await speak('dead-letters', 'list')
    expect(list.stdout).toMatch(/^run_\w+ +invoice .*http_status/m)
    expect(list.stderr).toContain(`carillon dead-letters show ${run}`)
    expect((await speak('dead-letters', 'groups')).stdout).toMatch(/^[0-9a-f]{16} +1 +1 +http_status/m)

    const shown = (await speak('dead-letters', 'show', run)).stdout
    expect(shown).toMatch(/^Payload +\{"account":7\}$/m)
    expect(shown).toContain(`→ Run it again:      carillon dead-letters redrive ${run}`)
    const letter = jsonOf<DeadLetterDetail>(await speak('dead-letters', 'show', run, '--json'))
    expect(letter).toMatchObject({ round: 1, history: [{ attempt: 1, outcome: 'dead' }] })
    expect((await speak('why', 'invoice', '--at', letter.scheduled_at)).stdout).toContain(
      `carillon dead-letters redrive ${run}`,
    )

    status = 200
    const before = seen.length
    const again = await speak('dead-letters', 'redrive', run, '--payload', '{"account":8}')
    expect(again.stdout).toMatch(/^✓ Back in the queue: run_\w+, round 2$/m)
    const read = async () => jsonOf<RunDetail>(await speak('runs', 'show', run, '--json'))
    await so(async () => (await read()).status === 'success')
    const [first, second] = [seen[before - 1], seen[before]]
    expect(second).toEqual({
      key: first?.key,
      body: expect.objectContaining({
        payload: { account: 8 },
        scheduled_at: first?.body.scheduled_at,
      }) as unknown,
    })
    expect(await read()).toMatchObject({
      run_id: run,
      scheduled_at: letter.scheduled_at,
      round: 2,
      attempts: [
        { round: 1, outcome: 'dead' },
        { round: 2, outcome: 'success' },
      ],
    })
    expect((await speak('runs', 'show', run)).stdout).toMatch(/^Attempt +1 of 1, round 2$/m)
    expect(await letters(job)).toEqual([])
    expect((await speak('dead-letters', 'show', run)).code).toBe(3)
  })

  it('leaves many that are run again at a pace, and what is left is discarded', async () => {
    status = 500
    const { job } = await deadOne('report')
    const { run } = await deadOne('export')
    status = 200
    const begun = jsonOf<Redrive>(
      await speak('dead-letters', 'redrive', '--job', job.job_id, '--rate', '50', '--canary', '1', '--json'),
    )
    expect(begun).toMatchObject({ total: 1, job_id: job.job_id, per_second: 50, canary: 1 })
    const number = String(begun.redrive)
    await so(
      async () => jsonOf<Redrive>(await speak('dead-letters', 'redrives', number, '--json')).state === 'done',
    )
    expect((await speak('dead-letters', 'redrives')).stdout).toMatch(/^\d+ +done +1 of 1/m)
    expect((await speak('dead-letters', 'stop', number)).code).toBe(4)
    expect(await letters(job)).toEqual([])

    expect(await speak('dead-letters', 'discard', run)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--yes') as string,
    })
    expect((await speak('dead-letters', 'discard', run, '--yes')).stdout).toBe('✓ Discarded 1\n')
    expect((await speak('dead-letters', 'list')).stderr).toBe('No dead letters.\n')
  })

  it.each([
    [['redrive'], '--all'],
    [['redrive', 'run_1', '--rate', '3'], '--rate is for many'],
    [['redrive', '--all', '--payload', '1'], '--payload is for one run'],
    [['redrive', '--all', '--rate', 'fast'], '--rate is "fast"'],
    [['discard', '--yes'], 'say which'],
    [['stop', 'x'], 'number'],
  ])('%j is refused with what to do', async (args, says) => {
    const ended = await speak('dead-letters', ...args)
    expect(ended.code).toBe(2)
    expect(ended.stderr).toContain(says)
  })
})

describe('runs cancel', () => {
  it('hangs up on the webhook of a run that is under way, and says how it ended', async () => {
    status = 0
    const job = await once('hangs')
    const runs = async () =>
      jsonOf<{ data: Run[] }>(await speak('runs', 'list', job.job_id, '--status', 'running', '--json')).data
    await so(async () => (await runs()).length === 1)
    const [run] = await runs()
    const id = run?.run_id ?? ''
    const cancelled = await speak('runs', 'cancel', id)
    expect(cancelled.code).toBe(0)
    expect(cancelled.stdout).toContain(id)
    const read = async () => jsonOf<RunDetail>(await speak('runs', 'show', id, '--json'))
    await so(async () => (await read()).status === 'cancelled')
    expect(await read()).toMatchObject({ reason: 'cancel_requested', round: 1 })
    const twice = await speak('runs', 'cancel', id)
    expect(twice.code).toBe(4)
    expect(twice.stderr).toContain('run_ended')
    expect((await speak('runs', 'list', job.job_id, '--status', 'dead')).stderr).toContain(
      'None of its runs match',
    )
  })
})
