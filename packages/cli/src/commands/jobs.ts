import { Command } from 'commander'
import { jobsCreateCommand } from './jobs-create.js'
import { jobsDeleteCommand } from './jobs-delete.js'
import { jobsGetCommand } from './jobs-get.js'
import { jobsListCommand } from './jobs-list.js'

export function jobsCommand(): Command {
  return new Command('jobs')
    .description('Register jobs, look at them, delete them')
    .addCommand(jobsCreateCommand())
    .addCommand(jobsListCommand())
    .addCommand(jobsGetCommand())
    .addCommand(jobsDeleteCommand())
}
