import type { Job } from '@carillon/sdk'
import { Command } from 'commander'
import { clientOf } from '../client.js'
import { isLive } from '../find-job.js'
import { type JobFilterFlags, queryOf, withJobFilter } from '../job-filter.js'
import { outputOf, withJson } from '../output/output.js'
import { withSettings } from '../settings.js'

const largestPage = 200

/** `carillon export`: the live jobs as `apply` takes them. */
export function exportCommand(): Command {
  const command = new Command('export').description(
    'Write the live jobs as YAML that apply takes; what is left out has its default',
  )
  withJobFilter(command).addHelpText('after', '\nExample:\n  carillon export --tag billing > jobs.yaml')
  withSettings(withJson(command), 'client')
  command.action(async () => {
    const output = outputOf(command)
    const query = queryOf(command.opts<JobFilterFlags>())
    const jobs: Job[] = []
    for await (const job of clientOf(command).jobs.iterate({ ...query, limit: largestPage })) {
      if (isLive(job)) jobs.push(job)
    }
    jobs.sort((a, b) => (a.name < b.name ? -1 : 1))
    const { exported, exportText } = await import('../declare/export.js')
    output.result({ jobs: jobs.map(exported) }, () => exportText(jobs))
  })
  return command
}
