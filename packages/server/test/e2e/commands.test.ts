import { existsSync, mkdirSync, readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import type { CommandTarget, Job, Run } from '@carillon/contract'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { Carillon, temporaryFolder, until } from './support/carillon.js'
import { useDatabases } from './support/databases.js'

describe('commands', () => {
  const folder = temporaryFolder()
  const started: Carillon[] = []
  // Registered first, so that it is done last.
  afterAll(() => folder.remove())
  const databaseOf = useDatabases(folder.path)

  async function up(name: string, args: string[], env: Record<string, string> = {}): Promise<Carillon> {
    const carillon = await Carillon.up({ args, env: { DATABASE_URL: await databaseOf(name), ...env } })
    started.push(carillon)
    return carillon
  }

  afterEach(async () => {
    await Promise.all(started.splice(0).map((carillon) => carillon.terminate()))
  })

  test('run as processes: variables, folder, exit code and the end of the output are those of the run', async () => {
    const carillon = await up('run', ['--allow-commands'], { SOME_SECRET: 'of the worker' })
    const cwd = join(folder.path, 'work')
    mkdirSync(cwd)
    const listing = await run(carillon, 'argv', {
      argv: ['/bin/sh', '-c', 'pwd; env; cat; exit 3'],
      env: { COLOUR: 'blue' },
      cwd,
      success_exit_codes: [3],
    })
    expect(listing).toMatchObject({ status: 'success', result: { exit_code: 3, signal: null } })
    const lines = outputOf(listing).split('\n')
    expect(lines[0]).toBe(realpathSync(cwd))
    expect(lines).toEqual(
      expect.arrayContaining([
        'COLOUR=blue',
        `CARILLON_RUN_ID=${listing.run_id}`,
        `CARILLON_FENCING_TOKEN=${listing.fencing_token}`,
        'CARILLON_ATTEMPT=1',
        '{"n":1}',
      ]),
    )
    expect(outputOf(listing)).not.toContain('of the worker')

    // As a line of a crontab is imported: pipes, redirections and all.
    const line = await run(carillon, 'shell', {
      shell: 'printf "b\\na\\n" | sort > sorted; cat sorted; >&2 echo done',
      cwd,
    })
    expect(line).toMatchObject({ status: 'success', result: { exit_code: 0 } })
    expect(outputOf(line).split('\n')).toEqual(expect.arrayContaining(['a', 'b', 'done']))
    expect(readFileSync(join(cwd, 'sorted'), 'utf8')).toBe('a\nb\n')

    const failed = await run(carillon, 'fails', { shell: 'echo the disk is full; exit 9' })
    expect(failed).toMatchObject({ status: 'dead', reason: 'command_exit', result: { exit_code: 9 } })
    expect(failed.error).toContain('exit code 9: the disk is full')
  })

  test('are not leased where they are not allowed: the job, the run, why and the log say so', async () => {
    const carillon = await up('unserved', [])
    const { jobs } = carillon.client
    const at = new Date(Date.now()).toISOString()
    const file = join(folder.path, 'ran')
    const job = await jobs.create({
      name: 'waits',
      schedule: at,
      target: { type: 'command', shell: `echo yes >> ${file}` },
    })
    expect(job.warnings).toMatchObject([{ code: 'no_worker_for_commands' }])
    const target = { type: 'command' as const, argv: ['true'] }
    const yearly = await jobs.create({ name: 'yearly', schedule: '0 0 1 1 *', target })
    const listed = (await jobs.list()).data.find(({ name }) => name === 'yearly')
    expect(listed?.warnings).toEqual(job.warnings)
    await until('the run says what it waits for', async () => {
      const [latest] = await jobs.runs(job.job_id)
      return latest?.status === 'pending' && latest.reason === 'no_worker_for_commands'
    })
    expect(await jobs.why(job.job_id, at)).toMatchObject({
      verdict: 'in_flight',
      reason: 'no_worker_for_commands',
      todo: expect.stringContaining('--allow-commands') as string,
    })
    await until('the log says it, too', () => carillon.stderr.includes('no live worker runs commands'))
    expect(existsSync(file)).toBe(false)
    await up('unserved', ['--role', 'worker', '--allow-commands'])
    expect(await ended(carillon, job)).toMatchObject({ status: 'success', attempt: 1 })
    expect(readFileSync(file, 'utf8')).toBe('yes\n')
    expect((await jobs.get(yearly.job_id)).warnings).toEqual([])
  })

  test('are asked to end within the drain time, and given the rest of it to clean up', async () => {
    const carillon = await up('drain', ['--allow-commands'], { CARILLON_DRAIN_SECONDS: '8' })
    const [pid, cleaned] = [join(folder.path, 'drain-pid'), join(folder.path, 'drain-cleaned')]
    const tidy = `trap 'sleep 2; echo tidy > ${cleaned}; exit 0' TERM; echo $$ > ${pid}; while :; do sleep 0.1; done`
    const job = await start(carillon, 'tidies up', { shell: tidy })
    const command = await pidIn(pid)
    expect(await carillon.terminate()).toBe(0)
    expect(readFileSync(cleaned, 'utf8')).toBe('tidy\n')
    expect(alive(command)).toBe(false)
    // Cut short by the worker, not by a fault of its own: it is there for the next one, without an attempt used up.
    const next = await up('drain', [])
    expect(await next.client.jobs.runs(job.job_id)).toMatchObject([{ status: 'pending', attempt: 1 }])
  })

  test('that hear no signal are gone with all they started when the server has ended', async () => {
    const carillon = await up('deaf', ['--allow-commands'], { CARILLON_DRAIN_SECONDS: '1' })
    const files = ['deaf-pid', 'deaf-child-pid'].map((name) => join(folder.path, name))
    const child = `sh -c 'trap "" TERM; echo $$ > ${files[1]}; while :; do sleep 0.1; done'`
    await start(carillon, 'deaf', { shell: `trap '' TERM; ${child} & echo $$ > ${files[0]}; wait; wait` })
    const pids = await Promise.all(files.map(pidIn))
    expect(await carillon.terminate()).toBe(0)
    await until('none is left', () => !pids.some(alive))
  })

  test('are gone, too, when a second signal ends the server at once', async () => {
    const carillon = await up('at-once', ['--allow-commands'])
    const file = join(folder.path, 'at-once-pid')
    await start(carillon, 'long', { shell: `echo $$ > ${file}; sleep 600` })
    const command = await pidIn(file)
    const exit = carillon.terminate()
    await until('the drain has begun', () => carillon.stderr.includes('stopping'))
    const begun = performance.now()
    // Sooner it would be taken for an echo of the first.
    await until('the first signal is past', () => performance.now() - begun > 700)
    carillon.child.kill('SIGTERM')
    expect(await exit).toBe(130)
    await until('it is gone', () => !alive(command))
  })
})

function start(carillon: Carillon, name: string, target: Omit<CommandTarget, 'type'>): Promise<Job> {
  return carillon.client.jobs.create({
    name,
    schedule: new Date(Date.now()).toISOString(),
    target: { type: 'command', ...target },
    payload: { n: 1 },
    max_retries: 0,
  })
}

async function run(carillon: Carillon, name: string, target: Omit<CommandTarget, 'type'>): Promise<Run> {
  return ended(carillon, await start(carillon, name, target))
}

function ended(carillon: Carillon, job: Job): Promise<Run> {
  return until(`a run of ${job.name} has ended`, async () => {
    const runs = await carillon.client.jobs.runs(job.job_id)
    return runs.find(({ status }) => status !== 'pending' && status !== 'running')
  })
}

function outputOf({ result }: Run): string {
  return (result as { output: string }).output
}

function pidIn(file: string): Promise<number> {
  return until('the command has begun', () => {
    const pid = existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0
    return pid > 0 && pid
  })
}

/** One that has ended and was not yet reaped is not alive. */
function alive(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}
