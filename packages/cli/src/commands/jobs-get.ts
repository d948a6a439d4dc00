import { Command } from 'commander'
import { clientOf } from '../client.js'
import { findJob } from '../find-job.js'
import { outputOf, withJson } from '../output/output.js'
import { withSettings } from '../settings.js'
import { jobDetails } from '../views/jobs.js'

/** `carillon jobs get JOB` */
export function jobsGetCommand(): Command {
  const command = new Command('get')
    .description('Show one job in full')
    .argument('<job>', "a job's id, or the name of a live job")
  withSettings(withJson(command), 'client')
  command.action(async (given: string) => {
    const output = outputOf(command)
    const job = await findJob(clientOf(command), given)
    output.result(job, () => jobDetails(job, output.look))
  })
  return command
}
