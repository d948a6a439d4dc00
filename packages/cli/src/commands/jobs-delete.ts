import { Command } from 'commander'
import { clientOf } from '../client.js'
import { canAsk, confirm } from '../confirm.js'
import { findJob } from '../find-job.js'
import { type ManyFlags, meansMany, operate, withMany } from '../operate.js'
import { outputOf, withJson } from '../output/output.js'
import { visible } from '../output/visible.js'
import { withSettings } from '../settings.js'
import { UsageError } from '../usage.js'

/** `carillon jobs delete JOB`: asks a person; a script says --yes. */
export function jobsDeleteCommand(): Command {
  const command = new Command('delete')
    .description('Delete a job, or all that match: nothing starts any more, what became of its ticks stays')
    .argument('[job]', "a job's id, or the name of a live job")
  withMany(command)
  withSettings(withJson(command), 'client')
  command.action(async (given: string | undefined) => {
    const flags = command.opts<ManyFlags>()
    if (meansMany(given, flags)) return operate(command, 'delete')
    const output = outputOf(command)
    const yes = flags.yes ?? false
    if (!yes && !canAsk()) {
      throw new UsageError('Nobody can be asked here whether to delete the job: add --yes if that is meant.')
    }
    const client = clientOf(command)
    const job = await findJob(client, given ?? '', { liveOnly: true })
    const question = `Delete the job "${visible(job.name)}" (${visible(job.job_id)})?`
    if (!(await confirm(question, { yes }))) throw new Error('Nothing was deleted.')
    await client.jobs.delete(job.job_id)
    output.result({ job_id: job.job_id, name: job.name, deleted: true }, () => {
      const name = output.look.colors.bold(visible(job.name))
      return `${output.look.colors.green('✓')} Deleted ${name} (${visible(job.job_id)})\n`
    })
  })
  return command
}
