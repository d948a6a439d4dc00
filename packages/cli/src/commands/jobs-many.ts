import { Command } from 'commander'
import { clientOf } from '../client.js'
import { confirm } from '../confirm.js'
import { findJob } from '../find-job.js'
import { type ManyFlags, meansMany, operate, withMany } from '../operate.js'
import { outputOf, withJson } from '../output/output.js'
import { visible } from '../output/visible.js'
import { append, withSettings } from '../settings.js'
import { UsageError } from '../usage.js'
import { cancelledText } from './jobs-versions.js'

/** `carillon jobs cancel JOB`, or of all that match */
export function jobsCancelCommand(): Command {
  const command = withMany(
    new Command('cancel')
      .description('Cancel a job, or all that match: no further ticks, definition and history stay')
      .argument('[job]', "a job's id, or the name of a live job")
      .option('--reason <text>', 'for people who look at the job'),
  )
  withSettings(withJson(command), 'client')
  command.action(async (given: string | undefined) => {
    const flags = command.opts<ManyFlags & { reason?: string }>()
    const reason = flags.reason === undefined ? {} : { reason: flags.reason }
    if (meansMany(given, flags)) return operate(command, 'cancel', reason)
    const output = outputOf(command)
    const client = clientOf(command)
    const found = await findJob(client, given ?? '', { liveOnly: true })
    if (!(await confirm(`Cancel the job "${visible(found.name)}" (${visible(found.job_id)})?`, flags)))
      throw new Error('Nothing was cancelled.')
    const job = await client.jobs.cancel(found.job_id, reason)
    output.result(job, () => cancelledText(job, output.look))
  })
  return command
}

/** `carillon jobs tag --search x --add a` */
export function jobsTagCommand(action: 'tag' | 'untag'): Command {
  const command = withMany(
    new Command(action)
      .description(
        action === 'tag' ? 'Give a tag to all jobs that match' : 'Take a tag from all jobs that match',
      )
      .option('--with <tag>', 'the tag; may be repeated', append),
  )
  withSettings(withJson(command), 'client')
  command.action(async () => {
    const flags = command.opts<ManyFlags & { with?: string[] }>()
    if (flags.with === undefined)
      throw new UsageError(`Say which tag: carillon jobs ${action} --search report --with billing`)
    meansMany(undefined, flags)
    await operate(command, action, { tags: flags.with })
  })
  return command
}
