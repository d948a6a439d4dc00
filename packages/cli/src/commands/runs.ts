import type { Client, Run, RunDetail, RunQuery, RunStatus } from '@carillon/sdk'
import { Command } from 'commander'
import { clientOf } from '../client.js'
import { findJobId } from '../find-job.js'
import { limitOf } from '../job-input.js'
import { JobNames, type NameOf } from '../job-names.js'
import { momentOf } from '../moments.js'
import type { Look } from '../output/look.js'
import { type Output, outputOf, withJson } from '../output/output.js'
import { whenInZone } from '../output/time.js'
import { visible } from '../output/visible.js'
import { append, withSettings } from '../settings.js'
import { UsageError } from '../usage.js'
import { runDetails } from '../views/run-detail.js'
import { runTable } from '../views/runs.js'
import { showList, upTo } from './client-command.js'
import { runsWatchCommand } from './live.js'

export function runsCommand(): Command {
  return new Command('runs')
    .description('See what became of ticks, follow runs live, cancel a run or run it again')
    .addCommand(runsListCommand())
    .addCommand(runsShowCommand())
    .addCommand(runsWatchCommand())
    .addCommand(runsCancelCommand())
    .addCommand(runsRetryCommand())
}

const defaultLimit = 20

/** `carillon runs list JOB` */
function runsListCommand(): Command {
  const command = new Command('list')
    .description("List a job's runs, or those of all jobs, latest tick first")
    .argument('[job]', "a job's id (also of a deleted job), or the name of a live job; without it, all jobs")
    .option('--limit <n>', `how many at most (default ${defaultLimit})`)
    .option(
      '--tag <tag>',
      'of all jobs, only those of jobs with this tag; may be repeated, all of them count',
      append,
    )
    .option('--status <status>', 'only these: pending, running, success, failed, dead, skipped or cancelled')
    .option('--after <instant>', 'only ticks from then on: ISO-8601, or 2h for two hours ago')
    .option('--before <instant>', 'only ticks before: ISO-8601, or 2h for two hours ago')
  withSettings(withJson(command), 'client')
  command.action(async (given: string | undefined) => {
    const output = outputOf(command)
    const flags = command.opts<ListFlags>()
    const limit = limitOf(flags.limit) ?? defaultLimit
    const query = queryOf(flags, output.look.now)
    const client = clientOf(command)
    if (given !== undefined && flags.tag !== undefined)
      throw new UsageError('--tag is for the runs of all jobs: leave the job out, or the tag.')
    if (given === undefined) {
      const tag = flags.tag === undefined ? {} : { tag: flags.tag }
      const list = await upTo(flags.limit, (page) => client.runs.list({ ...query, ...tag, ...page }))
      const nameOf = await namesFor(output, client, list.data)
      showList(output, list, (runs, look) => runTable(runs, look, nameOf), 'No runs match.')
      return
    }
    const id = await findJobId(client, given)
    const runs = await client.jobs.runs(id, { limit, ...query })
    output.result({ data: runs }, () => (runs.length === 0 ? '' : runTable(runs, output.look)))
    if (output.json) return
    if (runs.length === 0)
      output.note(
        Object.keys(query).length > 0 ? 'None of its runs match.' : await whyEmpty(client, id, output.look),
      )
    else if (runs.some(({ status }) => status === 'dead'))
      output.note(`Some are dead: carillon dead-letters list --job ${visible(given)}`)
  })
  return command
}

/** Nobody asks for names with --json: there the answer is the API's. */
async function namesFor(output: Output, client: Client, runs: readonly Run[]): Promise<NameOf> {
  return new JobNames(client).of(output.json ? [] : runs.map(({ job_id: id }) => id))
}

interface ListFlags {
  limit?: string
  tag?: string[]
  status?: string
  after?: string
  before?: string
}

function queryOf({ status, after, before }: ListFlags, now: Date): Omit<RunQuery, 'limit'> {
  return {
    // Whether it is one, the server says.
    ...(status !== undefined && { status: status.toLowerCase() as RunStatus }),
    ...(after !== undefined && { after: momentOf(after, now) }),
    ...(before !== undefined && { before: momentOf(before, now) }),
  }
}

/** `carillon runs show RUN` */
function runsShowCommand(): Command {
  const command = new Command('show')
    .description('Show one run with all of its attempts')
    .argument('<run>', 'run_…, as list and why show it')
  withSettings(withJson(command), 'client')
  command.action(async (runId: string) => {
    const output = outputOf(command)
    const client = clientOf(command)
    const run = await client.runs.get(runId)
    const nameOf = await namesFor(output, client, [run])
    output.result(run, () => runDetails(run, output.look, nameOf(run.job_id)))
  })
  return command
}

/** `carillon runs retry RUN` */
function runsRetryCommand(): Command {
  const command = new Command('retry')
    .description('Run a dead run once more, with the same tick and idempotency key')
    .argument('<run>', 'run_…, as list and why show it')
    .option('--current', "run the job's current version, not the one that failed")
  withSettings(withJson(command), 'client')
  command.action(async (runId: string) => {
    const output = outputOf(command)
    const { current } = command.opts<{ current?: boolean }>()
    const run = await clientOf(command).runs.retry(runId, current ? { version: 'current' } : {})
    output.result(
      run,
      () =>
        `${output.look.colors.green('✓')} Back in the queue: ${visible(run.run_id)}\n→ Follow it: carillon runs watch ${visible(run.run_id)}\n`,
    )
  })
  return command
}

/** `carillon runs cancel RUN` */
function runsCancelCommand(): Command {
  const command = new Command('cancel')
    .description('Cancel a run: one that waits ends at once, one that is under way is told to stop')
    .argument('<run>', 'run_…, as list and why show it')
  withSettings(withJson(command), 'client')
  command.action(async (runId: string) => {
    const output = outputOf(command)
    const run = await clientOf(command).runs.cancel(runId)
    output.result(run, () => cancelledText(run, output.look))
  })
  return command
}

function cancelledText({ run_id: runId, status, finished_at: end }: RunDetail, { colors }: Look): string {
  const id = visible(runId)
  if (status === 'cancelled' || end !== null)
    return `${colors.green('✓')} Ended as ${visible(status)}: ${id}\n`
  return (
    `${colors.green('✓')} Its worker is asked to stop ${id}: a webhook is hung up, a command is killed, a task gets the signal\n` +
    `→ How it ended: carillon runs show ${id}\n`
  )
}

async function whyEmpty(client: Client, id: string, look: Look): Promise<string> {
  const { next_run_at: next, state } = await client.jobs.get(id)
  if (next !== null) return `No tick of it has come yet; the first is at ${whenInZone(next, look)}.`
  return `No tick of it has come, and none is ahead: the job is ${state}. See: carillon jobs get ${id}`
}
