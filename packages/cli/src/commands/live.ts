import type { Client, Run, RunEvent, StreamOptions } from '@carillon/sdk'
import type { Command } from 'commander'
import { findJobId } from '../find-job.js'
import { JobNames } from '../job-names.js'
import type { Output } from '../output/output.js'
import { jsonLine } from '../output/visible.js'
import { isFailure, runLine } from '../views/run-line.js'
import { historyText, statsText } from '../views/stats.js'
import { integerOf } from '../job-input.js'
import { durationOf } from '../moments.js'
import { UsageError } from '../usage.js'
import { clientCommand, whichJob } from './client-command.js'

/** Ctrl-C is how such commands end, or a reader that leaves (`| head`): nothing is wrong then. */
function untilInterrupted(): AbortController {
  const controller = new AbortController()
  process.stdout.once('error', () => controller.abort())
  process.once('SIGINT', () => controller.abort())
  process.once('SIGTERM', () => controller.abort())
  return controller
}

type Show = (run: Run) => Promise<void>

/** With the name of its job, which is asked for once. */
function shower(client: Client, output: Output): Show {
  const names = new JobNames(client)
  return async (run) => {
    if (output.json) return output.line(jsonLine(run))
    const nameOf = await names.of([run.job_id])
    output.line(runLine(run, { ...output.look, now: new Date() }, nameOf(run.job_id)))
  }
}

interface TailFlags {
  job?: string
  failed?: boolean
  count?: string
}

/** `carillon tail`: every change of a run, a line each, until Ctrl-C. */
export function tailCommand(): Command {
  return clientCommand<TailFlags>(
    'tail',
    'Follow the runs of all jobs live, one line for every change, until Ctrl-C',
    (command) =>
      command
        .option('--job <job>', `only of this job: ${whichJob}`)
        .option('--failed', 'only runs that failed or died')
        .option('--count <n>', 'end after so many lines'),
    async ({ client, output, flags }) => {
      const most = integerOf(flags.count, '--count') ?? Number.POSITIVE_INFINITY
      const show = shower(client, output)
      let shown = 0
      for await (const { run } of streamOf(client, output, await jobIdOf(client, flags.job))) {
        if (flags.failed && !isFailure(run)) continue
        await show(run)
        if (++shown >= most) return
      }
    },
  )
}

async function jobIdOf(client: Client, given: string | undefined): Promise<string | undefined> {
  return given === undefined ? undefined : findJobId(client, given)
}

function streamOf(
  client: Client,
  output: Output,
  jobId?: string,
  {
    signal = untilInterrupted().signal,
    onOpen = () => undefined,
  }: Pick<StreamOptions, 'signal' | 'onOpen'> = {},
): AsyncGenerator<RunEvent> {
  let wasOpen = false
  return client.runs.stream({
    signal,
    onOpen: () => {
      wasOpen = true
      onOpen()
    },
    ...(jobId !== undefined && { jobId }),
    onBreak: (error) => {
      // Where nothing ever answered, the address is wrong rather than the server on its way back.
      if (!wasOpen) throw error
      output.note(`! The stream broke and is opened again: ${error.message}`)
    },
    onGap: () => output.note('! Some changes were passed over: carillon runs list has all runs'),
  })
}

/** `carillon runs watch RUN|JOB`: a run until its end, or a job's runs until Ctrl-C. */
export function runsWatchCommand(): Command {
  return clientCommand(
    'watch',
    'Follow live: a run until it has ended (exit code 1 where it failed), or the runs of a job until Ctrl-C',
    (command) => command.argument('<run or job>', 'run_…, or a job by its id or name'),
    async ({ client, output, args: [given = ''] }) => {
      const show = shower(client, output)
      if (!given.startsWith('run_')) {
        const id = await findJobId(client, given)
        for (const run of (await client.jobs.runs(id, { limit: 5 })).toReversed()) await show(run)
        for await (const { run } of streamOf(client, output, id)) await show(run)
        return
      }
      const ended = await runEnded(client, output, given, show)
      if (ended !== null && isFailure(ended)) process.exitCode = 1
    },
  )
}

/** Looked at whenever the stream has been opened, so that an end before that is not missed. */
async function runEnded(client: Client, output: Output, runId: string, show: Show): Promise<Run | null> {
  const first = await client.runs.get(runId)
  await show(first)
  if (isOver(first)) return first
  const leaving = untilInterrupted()
  let seen: Promise<Run | null> = Promise.resolve(null)
  const look = async (): Promise<Run | null> => {
    try {
      const now = await client.runs.get(runId)
      if (isOver(now)) leaving.abort()
      return isOver(now) ? now : null
    } catch (error) {
      leaving.abort()
      throw error
    }
  }
  const onOpen = () => {
    seen = look()
    // Thrown where it is waited for.
    seen.catch(() => undefined)
  }
  const stream = streamOf(client, output, first.job_id, { signal: leaving.signal, onOpen })
  for await (const { run } of stream) {
    if (run.run_id !== runId) continue
    await show(run)
    if (isOver(run)) return run
  }
  const ended = await seen
  if (ended !== null) await show(ended)
  return ended
}

function isOver({ status }: Run): boolean {
  return ['success', 'dead', 'skipped', 'cancelled', 'stale'].includes(status)
}

/** `carillon top`: a screen that renews itself; one print where nobody looks. */
export function topCommand(): Command {
  return clientCommand<{ every: string; once?: boolean }>(
    'top',
    'Show live: lag, firings, queue and what fails; ends with q or Ctrl-C, and prints once on a pipe',
    (command) =>
      command
        .option('--every <time>', 'how often it is renewed', '2s')
        .option('--once', 'print once, and end'),
    async ({ client, output, flags }) => {
      const everyMs = durationOf('--every', flags.every) * 1000
      if (everyMs < 1000) throw new UsageError('--every is at least 1s.')
      const names = new JobNames(client)
      const screen = async () => {
        const [stats, failing] = await Promise.all([client.stats(), failingRuns(client)])
        return { stats, failing, nameOf: await names.of(failing.map((run) => run.job_id)) }
      }
      if (flags.once || output.json || !process.stdout.isTTY) {
        const seen = await screen()
        output.result({ ...seen.stats, failing: seen.failing }, () =>
          statsText(seen.stats, output.look, seen.failing, seen.nameOf),
        )
        return
      }
      await renewed(everyMs, async () => {
        const { stats, failing, nameOf } = await screen()
        return statsText(stats, { ...output.look, now: new Date() }, failing, nameOf)
      })
    },
  )
}

const mostFailing = 8

async function failingRuns(client: Client): Promise<Run[]> {
  return (await client.runs.list({ status: 'dead', limit: mostFailing })).data
}

/** On a screen of its own, which is left as it was found. */
async function renewed(everyMs: number, draw: () => Promise<string>): Promise<void> {
  const { signal, abort } = leaving()
  process.stdout.write('\u001b[?1049h\u001b[?25l')
  try {
    while (!signal.aborted) {
      const text = await draw()
      process.stdout.write(`\u001b[H\u001b[2J${text}\n(q to leave)\n`)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, everyMs)
        signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true })
      })
    }
  } finally {
    abort()
    process.stdout.write('\u001b[?25h\u001b[?1049l')
  }
}

function leaving(): { signal: AbortSignal; abort: () => void } {
  const controller = untilInterrupted()
  const { stdin } = process
  const onKey = (key: Buffer) => {
    // In raw mode Ctrl-C is a character.
    if (/[q\u0003]/i.test(key.toString())) controller.abort()
  }
  if (stdin.isTTY) stdin.setRawMode(true).resume().on('data', onKey)
  return {
    signal: controller.signal,
    abort: () => {
      if (stdin.isTTY) stdin.off('data', onKey).setRawMode(false).pause()
    },
  }
}

/** `carillon stats`: at this moment, over the last minutes, or again and again. */
export function statsCommand(): Command {
  return clientCommand<{ last?: string; follow?: boolean }>(
    'stats',
    'Show counts and delays at this moment',
    (command) =>
      command
        .option('--last <time>', 'piece by piece over this time, e.g. 30m; 2h at most')
        .option('--follow', 'again every two seconds, until Ctrl-C'),
    async ({ client, output, flags }) => {
      if (flags.last !== undefined) {
        const minutes = Math.max(1, Math.round(durationOf('--last', flags.last) / 60))
        const history = await client.statsHistory({ minutes })
        return output.result(history, () => historyText(history, output.look))
      }
      if (flags.follow !== true) {
        const stats = await client.stats()
        return output.result(stats, () => statsText(stats, output.look))
      }
      for await (const stats of client.statsStream({ signal: untilInterrupted().signal })) {
        output.line(
          output.json ? jsonLine(stats) : `${statsText(stats, { ...output.look, now: new Date() })}\n`,
        )
      }
    },
  )
}
