import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { CommandTarget } from '@carillon/contract'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { attempt, never } from '../../test/kit/local-target.js'
import { type CommandTargetOptions, createCommandTarget } from './command.js'
import { StopSwitch } from './stop-switch.js'
import type { Attempt, Outcome } from './target.js'

const inherited = { ...process.env, DATABASE_URL: 'postgres://secret', AWS_SECRET_ACCESS_KEY: 'secret' }
let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'carillon-command-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function commands(options: Partial<CommandTargetOptions> = {}) {
  return createCommandTarget({ allowed: true, inherited, graceMs: 5_000, ...options })
}

function run(
  target: Omit<CommandTarget, 'type'>,
  changes: Partial<Attempt> = {},
  options: Partial<CommandTargetOptions> & { signal?: AbortSignal } = {},
): Promise<Outcome> {
  const { signal, ...more } = options
  const stop = signal === undefined ? never : StopSwitch.by(signal)
  return commands(more).deliver({ type: 'command', ...target }, { ...attempt, ...changes }, stop)
}

const node = (script: string) => [process.execPath, '-e', script]

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await delay(5)
}

function isAlive(pid: number): boolean {
  try {
    // A killed process whose parent has not looked yet is still there, as a zombie.
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

const pidIn = (name: string) => Number(readFileSync(join(folder, name), 'utf8'))
/** Written at once, so that a reader never sees half of a number. */
const notePid = (name: string) =>
  `echo $$ > ${folder}/${name}.new; mv ${folder}/${name}.new ${folder}/${name}`

describe('a command', () => {
  it('succeeds with exit code 0; the end of both its outputs is kept', async () => {
    expect(await run({ argv: node('console.log("out"); console.error("err")') })).toEqual({
      kind: 'success',
      result: {
        exit_code: 0,
        signal: null,
        output: expect.stringMatching(/^(out\nerr|err\nout)\n$/) as string,
      },
    })
  })

  it('is run without a shell as argv, and by one as a line', async () => {
    const arguments_ = ['$HOME', 'a b', '*', ';']
    expect(
      await run({ argv: [...node('console.log(process.argv.slice(1).join("|"))'), ...arguments_] }),
    ).toMatchObject({
      result: { output: '$HOME|a b|*|;\n' },
    })
    expect(await run({ shell: 'echo one two | wc -w | tr -d " "; echo "$0"' })).toMatchObject({
      result: { output: '2\n/bin/sh\n' },
    })
  })

  it('fails with any other exit code, and says the last line it wrote', async () => {
    expect(await run({ shell: 'echo first; echo the disk is full >&2; exit 3' })).toEqual({
      kind: 'failed',
      reason: 'command_exit',
      retryable: true,
      error: 'the shell line ended with exit code 3: the disk is full',
      result: { exit_code: 3, signal: null, output: 'first\nthe disk is full\n' },
    })
  })

  it('succeeds with the exit codes of the job’s own choice only', async () => {
    expect(await run({ shell: 'exit 2', success_exit_codes: [1, 2] })).toMatchObject({ kind: 'success' })
    expect(await run({ shell: 'exit 0', success_exit_codes: [1, 2] })).toMatchObject({
      reason: 'command_exit',
    })
  })

  it('that is killed by somebody else fails with the signal', async () => {
    expect(await run({ shell: 'kill -9 $$' })).toMatchObject({
      reason: 'command_signal',
      retryable: true,
      error: 'the shell line was ended by SIGKILL, which Carillon did not send',
      result: { exit_code: null, signal: 'SIGKILL' },
    })
  })

  it.each([
    ['does not exist', { argv: ['/no/such/program'] }],
    ['may not be executed', { argv: ['/etc/passwd'] }],
    ['starts in a folder that does not exist', { argv: ['/bin/true'], cwd: '/no/such/folder' }],
  ])('that %s may be tried again elsewhere', async (_name, target) => {
    expect(await run(target)).toMatchObject({
      kind: 'failed',
      reason: 'command_start',
      retryable: true,
      error: expect.stringContaining('Check that the program and the working folder exist') as string,
    })
  })

  it('runs in its folder', async () => {
    expect(await run({ shell: 'pwd', cwd: folder })).toMatchObject({ result: { output: `${folder}\n` } })
  })

  it('that cannot be started by anybody is final', async () => {
    expect(await run({})).toMatchObject({ reason: 'invalid_target', retryable: false })
    const huge = { shell: 'true', env: { A: 'x'.repeat(200_000) } }
    expect(await run(huge)).toMatchObject({ reason: 'command_start', retryable: false })
  })

  it('of any length of output leaves its end, and does not fill the memory', async () => {
    const before = process.memoryUsage().rss
    const shell = 'head -c 134217728 /dev/zero | tr "\\0" a; echo; echo done'
    const outcome = await run({ shell }, { timeoutMs: 110_000 })
    expect(outcome).toMatchObject({ kind: 'success', result: { truncated: true } })
    const { output } = (outcome as { result: { output: string } }).result
    expect(output).toMatch(/^a+\ndone\n$/)
    expect(output).toHaveLength(4_096)
    expect(process.memoryUsage().rss - before).toBeLessThan(100 * 1024 * 1024)
  }, 120_000)

  it('that writes no text leaves what can be stored', async () => {
    const outcome = await run({ shell: "printf 'a\\000\\377\\355\\240\\200b'" })
    expect(JSON.stringify(outcome)).not.toMatch(/\\u0000|\\ud[89a-f]/i)
    expect(outcome).toMatchObject({ result: { output: expect.stringMatching(/^a\uFFFD+b$/) as string } })
  })
})

describe('what a command is told', () => {
  const told = async (target: Partial<CommandTarget>, changes: Partial<Attempt> = {}) => {
    const outcome = await run(
      { argv: node('process.stdout.write(JSON.stringify({ ...process.env }))'), ...target },
      changes,
    )
    return JSON.parse((outcome as { result: { output: string } }).result.output) as Record<string, string>
  }

  it('is the attempt, its own variables, and of the worker’s environment only PATH, HOME, LANG and TZ', async () => {
    const environment = await told({ env: { MINE: 'x', TZ: 'Asia/Tokyo' } })
    const ours = {
      CARILLON_JOB_ID: 'job_1',
      CARILLON_JOB_NAME: 'weekly report',
      CARILLON_RUN_ID: 'run_1',
      CARILLON_SCHEDULED_AT: '2026-01-05T09:00:00Z',
      CARILLON_ATTEMPT: '2',
      CARILLON_FENCING_TOKEN: '77',
      CARILLON_IDEMPOTENCY_KEY: 'job_1:1767603600',
      CARILLON_CATCH_UP: 'false',
      CARILLON_PAYLOAD: '{"n":1}',
      MINE: 'x',
      TZ: 'Asia/Tokyo',
    }
    expect(environment).toMatchObject(ours)
    expect(environment['TRACEPARENT']).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
    const inherits = ['PATH', 'HOME', 'LANG']
    const allowed = [...Object.keys(ours), 'TRACEPARENT', ...inherits]
    expect(Object.keys(environment).filter((name) => !allowed.includes(name))).toEqual([])
    expect(environment['PATH']).toBe(process.env['PATH'])
  })

  it('is the payload on its standard input too, also when it is too large for a variable', async () => {
    expect(await run({ shell: 'cat' })).toMatchObject({ result: { output: '{"n":1}' } })
    const payload = 'é'.repeat(500_000)
    const counts = await run({ shell: 'wc -c | tr -d " "; echo "${CARILLON_PAYLOAD-none}"' }, { payload })
    expect(counts).toMatchObject({ kind: 'success', result: { output: '1000002\nnone\n' } })
  })

  it('need not be read', async () => {
    expect(await run({ shell: 'exec <&-; exit 0' }, { payload: 'x'.repeat(500_000) })).toMatchObject({
      kind: 'success',
    })
  })
})

describe('the end of a command', () => {
  /** Runs a line, and cancels it as soon as all these files are there. */
  const cancelled = async (shell: string, files: string[], graceMs = 20_000) => {
    const stop = new AbortController()
    const running = run({ shell }, {}, { signal: stop.signal, graceMs })
    await until(() => files.every((name) => existsSync(join(folder, name))))
    stop.abort(new Error('a newer run takes its place'))
    return running
  }
  const forever = 'while :; do sleep 0.05; done'

  it('comes at the deadline', async () => {
    expect(await run({ shell: 'exec sleep 600' }, { timeoutMs: 300 })).toEqual({
      kind: 'failed',
      reason: 'timeout',
      retryable: true,
      error: 'the shell line: not done within 0.3 s; it was ended',
      result: { exit_code: null, signal: 'SIGTERM', output: '' },
    })
  })

  it('comes with SIGTERM, which it may obey in its own time', async () => {
    const shell = `trap "sleep 0.2; echo cleaned; exit 0" TERM; ${notePid('parent')}; ${forever}`
    expect(await cancelled(shell, ['parent'])).toMatchObject({
      kind: 'failed',
      reason: 'cancelled',
      retryable: true,
      error: 'the shell line: cancelled: a newer run takes its place',
      result: { exit_code: 0, signal: null, output: expect.stringMatching(/cleaned\n$/) as string },
    })
    expect(isAlive(pidIn('parent'))).toBe(false)
  })

  it('comes with SIGKILL for one that does not, and for all that it started', async () => {
    const deaf = 'trap "" TERM;'
    const child = `sh -c '${deaf} ${notePid('child')}; ${forever}'`
    const shell = `${deaf} ${notePid('parent')}; ${child} & ${forever}`
    expect(await cancelled(shell, ['parent', 'child'], 200)).toMatchObject({ result: { signal: 'SIGKILL' } })
    const pids = [pidIn('parent'), pidIn('child')]
    expect(new Set(pids).size).toBe(2)
    await until(() => !pids.some(isAlive))
  })

  it('reaches a child that does not hold the output and ignores SIGTERM', async () => {
    const child = `trap "" TERM; ${notePid('child')}; ${forever}`
    await cancelled(`sh -c '${child}' > /dev/null 2>&1 & ${forever}`, ['child'])
    await until(() => !isAlive(pidIn('child')))
  })

  it('is waited for while a child holds the output, and that child ends at the deadline', async () => {
    const shell = `sh -c '${notePid('child')}; echo child; sleep 600' & echo parent; exit 0`
    const outcome = await run({ shell }, { timeoutMs: 5_000 })
    expect(outcome).toMatchObject({
      reason: 'timeout',
      error: expect.stringContaining('the command itself was, but not what it had started') as string,
      result: { exit_code: 0 },
    })
    await until(() => !isAlive(pidIn('child')))
  })

  it('is not held up by a process that left the group with the output in its hands', async () => {
    const outcome = await run(
      {
        argv: node(
          `require('child_process').spawn('sleep', ['5'], { detached: true, stdio: 'inherit' }).unref()`,
        ),
      },
      { timeoutMs: 500 },
      { graceMs: 50 },
    )
    expect(outcome).toMatchObject({ reason: 'timeout' })
  })

  it('comes at once when the target is closed', async () => {
    const target = commands()
    const shell = `trap "" TERM; ${notePid('parent')}; while :; do sleep 0.05; done`
    const running = target.deliver({ type: 'command', shell }, attempt, never)
    await until(() => existsSync(join(folder, 'parent')))
    await target.close()
    expect(await running).toMatchObject({ kind: 'failed', result: { signal: 'SIGKILL' } })
  })

  it('came before the start when the attempt was cancelled before', async () => {
    const outcome = await run({ shell: notePid('parent') }, {}, { signal: AbortSignal.abort() })
    expect(outcome).toMatchObject({ reason: 'cancelled' })
    expect(existsSync(join(folder, 'parent'))).toBe(false)
  })
})

it('a worker that does not run commands says so, finally, and runs nothing', async () => {
  const outcome = await run({ shell: notePid('parent') }, {}, { allowed: false })
  expect(outcome).toMatchObject({
    kind: 'failed',
    reason: 'unserved',
    retryable: false,
    error: expect.stringContaining('--allow-commands') as string,
  })
  expect(existsSync(join(folder, 'parent'))).toBe(false)
})
