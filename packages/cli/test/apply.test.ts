import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Job } from '@carillon/sdk'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Ended, RunOptions, TestServer } from './support/carillon.js'
import { carillon, jsonOf, newFolder, removeFolder, startServer } from './support/carillon.js'

let server: TestServer
let folder: string

beforeAll(async () => {
  folder = newFolder()
  server = await startServer()
})
afterAll(async () => {
  removeFolder(folder)
  await server.stop()
})

function speak(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  return carillon(args, { cwd: folder, ...options, env: { CARILLON_URL: server.url, ...options.env } })
}

const jobs = `defaults: { timezone: Europe/Madrid, target: { type: task, task: report } }
jobs:
  - name: weekly
    schedule: 0 9 * * mon
    payload: { kind: weekly }
  - name: nightly
    schedule: "0 2 * * *"
    paused: true
    retry: { max_attempts: 5, base_ms: 500 }
    target:
      type: http
      url: https://example.com/nightly
      headers: { Authorization: Bearer hunter2 }
`

describe('carillon apply', () => {
  it('makes the jobs what files and folders say, shows what changes, and then nothing is left to do', async () => {
    mkdirSync(join(folder, 'jobs'))
    writeFileSync(join(folder, 'jobs', 'a.yaml'), jobs)
    const stdin = '{"name": "hourly", "schedule": "@hourly"}'
    const args = ['apply', '-f', 'jobs', '-f', '-']
    const first = await speak([...args, '--yes'], { input: stdin })
    expect(first.stderr).toMatch(/^! weekly: No live worker serves the task "report"/m)
    expect(first.stdout).toMatch(/^\+ weekly$[^]*^✓ 3 created, 0 unchanged$/m)
    expect(first.stdout).not.toContain('hunter2')
    expect((await speak([...args, '--yes'], { input: stdin })).stdout).toBe('3 unchanged\n')
    expect(jsonOf<Job>(await speak(['jobs', 'get', 'nightly', '--json']))).toMatchObject({
      state: 'paused',
      version: 1,
    })

    writeFileSync(
      join(folder, 'jobs', 'a.yaml'),
      jobs.replace('0 9 *', '0 10 *').replace('kind: weekly', 'kind: short'),
    )
    const diff = await speak(['diff', '-f', 'jobs', '--exit-code'])
    expect(diff.stdout).toBe(
      [
        '~ weekly',
        '  - schedule: 0 9 * * mon',
        '  + schedule: 0 10 * * mon',
        '  - payload.kind: weekly',
        '  + payload.kind: short',
        '1 to change, 1 unchanged\n',
      ].join('\n'),
    )
    expect(diff.code).toBe(1)
    const refused = await speak(['apply', '-f', 'jobs'])
    expect(refused.code).toBe(2)
    expect(refused.stderr).toContain('--yes')
    expect(jsonOf(await speak(['apply', '-f', 'jobs', '--yes', '--json']))).toMatchObject({
      change: 1,
      done: [{ action: 'changed', name: 'weekly' }],
    })
    expect(jsonOf<Job>(await speak(['jobs', 'get', 'weekly', '--json']))).toMatchObject({
      version: 2,
      payload: { kind: 'short' },
    })
  })

  it('exports what it takes: fed back, it differs in nothing', async () => {
    const { stdout } = await speak(['export'])
    expect(stdout).toContain('name: nightly')
    const diff = await speak(['diff', '-f', '-', '--exit-code'], { input: stdout })
    expect(diff).toMatchObject({ code: 0, stdout: '3 unchanged\n' })
  })

  it('tells every mistake with file, line and column, and writes nothing', async () => {
    writeFileSync(
      join(folder, 'bad.yaml'),
      'jobs:\n  - name: good\n    schedule: "@daily"\n  - name: bad\n    schedule: 0 9 * * mon-fry\n  - name: worse\n    shedule: "@daily"\n',
    )
    const { code, stdout, stderr } = await speak(['apply', '-f', 'bad.yaml', '--yes'])
    expect(code).toBe(1)
    expect(stdout).toBe('')
    expect(stderr).toMatch(/bad\.yaml:5:15: bad: 'FRY' in 'MON-FRY' is not a day of the week/)
    expect(stderr).toMatch(/bad\.yaml:7:5: worse: shedule is no field here\n +Did you mean schedule\?/)
    expect((await speak(['jobs', 'get', 'good'])).code).toBe(3)
    const asJson = await speak(['apply', '-f', 'bad.yaml', '--yes', '--json'])
    expect(JSON.parse(asJson.stderr)).toMatchObject({
      error: {
        code: 'invalid_declaration',
        errors: expect.arrayContaining([expect.objectContaining({ place: 'bad.yaml:5:15' })]) as unknown,
      },
    })
  })

  it('prunes only with an owner', async () => {
    const { code, stderr } = await speak(['apply', '-f', 'jobs', '--prune', '--yes'])
    expect(code).toBe(2)
    expect(stderr).toContain('--owner')
  })
})
