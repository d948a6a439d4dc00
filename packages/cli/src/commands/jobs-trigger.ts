import type { Client, Run } from '@carillon/sdk'
import { Command } from 'commander'
import { clientOf } from '../client.js'
import { findJob } from '../find-job.js'
import { type ManyFlags, meansMany, operate, withMany } from '../operate.js'
import type { Look } from '../output/look.js'
import { outputOf, withJson } from '../output/output.js'
import { visible } from '../output/visible.js'
import { withSettings } from '../settings.js'

/** `carillon jobs trigger JOB` */
export function jobsTriggerCommand(): Command {
  const command = new Command('trigger')
    .description(
      'Run a job, or all that match, now, beside the schedule: no tick is used up. Ends with 1 where a run that goes on is in the way',
    )
    .argument('[job]', "a job's id, or its name")
  withMany(command)
  withSettings(withJson(command), 'client')
  command.action(async (given: string | undefined) => {
    if (meansMany(given, command.opts<ManyFlags>())) return operate(command, 'trigger')
    const output = outputOf(command)
    const client = clientOf(command)
    const job = await findJob(client, given ?? '')
    const run = await client.jobs.trigger(job.job_id)
    const inTheWay = run.status === 'skipped' ? await runInTheWay(client, job.job_id) : null
    output.result(run, () => triggered(run, job.name, inTheWay, output.look))
    // Asked for a run, and there is none: a script must notice.
    if (run.status === 'skipped') process.exitCode = 1
  })
  return command
}

/** The run that goes on, if it has not ended meanwhile. */
async function runInTheWay(client: Client, jobId: string): Promise<string | null> {
  for (const status of ['running', 'pending'] as const) {
    const [run] = await client.jobs.runs(jobId, { status, limit: 1 })
    if (run !== undefined) return run.run_id
  }
  return null
}

function triggered(run: Run, name: string, inTheWay: string | null, { colors }: Look): string {
  const what = `${colors.bold(visible(name))} (${visible(run.run_id)})`
  if (run.status !== 'skipped') return `${colors.green('✓')} Triggered ${what}\n`
  const other = inTheWay === null ? 'another run' : `its run ${visible(inTheWay)}`
  return `${colors.yellow('!')} ${colors.bold(visible(name))} was not run: ${other} is going on, and its overlap policy lets no second one begin\n`
}
