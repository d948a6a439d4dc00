import { Command } from 'commander'
import { clientOf } from '../client.js'
import { findJob } from '../find-job.js'
import { type ManyFlags, meansMany, operate, withMany } from '../operate.js'
import { outputOf, withJson } from '../output/output.js'
import { whenInZone } from '../output/time.js'
import { withSettings } from '../settings.js'
import { changed } from '../views/jobs.js'

const whichJob = "a job's id, or the name of a live job"

/** `carillon jobs pause JOB` */
export function jobsPauseCommand(): Command {
  const command = new Command('pause')
    .description(
      'Pause a job, or all that match: nothing starts until it is resumed; a run under way goes on',
    )
    .argument('[job]', whichJob)
    .option('--reason <text>', 'for people who look at the job')
    .option('--until <instant>', 'when it resumes by itself, e.g. 2026-12-24T08:00:00Z')
  withMany(command)
  withSettings(withJson(command), 'client')
  command.action(async (given: string | undefined) => {
    const flags = command.opts<ManyFlags & { reason?: string; until?: string }>()
    const { reason, until } = flags
    const pause = { ...(reason !== undefined && { reason }), ...(until !== undefined && { until }) }
    if (meansMany(given, flags)) return operate(command, 'pause', pause)
    const output = outputOf(command)
    const client = clientOf(command)
    const { job_id: id } = await findJob(client, given ?? '', { liveOnly: true })
    const job = await client.jobs.pause(id, pause)
    output.result(job, () => {
      const end =
        job.paused_until === null
          ? 'until it is resumed'
          : `until ${whenInZone(job.paused_until, output.look)}`
      return changed('Paused', job, output.look, end)
    })
  })
  return command
}

/** `carillon jobs resume JOB` */
export function jobsResumeCommand(): Command {
  const command = new Command('resume')
    .description(
      'Resume a paused job, or all that match: the missed-window policy decides about the ticks of the pause',
    )
    .argument('[job]', whichJob)
  withMany(command)
  withSettings(withJson(command), 'client')
  command.action(async (given: string | undefined) => {
    if (meansMany(given, command.opts<ManyFlags>())) return operate(command, 'resume')
    const output = outputOf(command)
    const client = clientOf(command)
    const { job_id: id } = await findJob(client, given ?? '', { liveOnly: true })
    const job = await client.jobs.resume(id)
    output.result(job, () => changed('Resumed', job, output.look))
  })
  return command
}
