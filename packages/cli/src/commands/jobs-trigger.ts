import type { Run } from '@carillon/sdk'
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
    .description('Run a job, or all that match, now, beside the schedule: no tick is used up')
    .argument('[job]', "a job's id, or its name")
  withMany(command)
  withSettings(withJson(command), 'client')
  command.action(async (given: string | undefined) => {
    if (meansMany(given, command.opts<ManyFlags>())) return operate(command, 'trigger')
    const output = outputOf(command)
    const client = clientOf(command)
    const job = await findJob(client, given ?? '')
    const run = await client.jobs.trigger(job.job_id)
    output.result(run, () => triggered(run, job.name, output.look))
  })
  return command
}

function triggered(run: Run, name: string, { colors }: Look): string {
  const what = `${colors.bold(visible(name))} (${visible(run.run_id)})`
  if (run.status !== 'skipped') return `${colors.green('✓')} Triggered ${what}\n`
  return `${colors.yellow('!')} Not run: ${what} is going on, and its overlap policy passes over another run\n`
}
