import { Command } from 'commander'
import { jobsCreateCommand } from './jobs-create.js'
import { jobsDeleteCommand } from './jobs-delete.js'
import { jobsEditCommand } from './jobs-edit.js'
import { jobsGetCommand } from './jobs-get.js'
import { jobsListCommand } from './jobs-list.js'
import { jobsPauseCommand, jobsResumeCommand } from './jobs-pause.js'
import { jobsTriggerCommand } from './jobs-trigger.js'

export function jobsCommand(): Command {
  return new Command('jobs')
    .description('Register jobs, look at them, change, pause, trigger and delete them')
    .addCommand(jobsCreateCommand())
    .addCommand(jobsListCommand())
    .addCommand(jobsGetCommand())
    .addCommand(jobsEditCommand())
    .addCommand(jobsPauseCommand())
    .addCommand(jobsResumeCommand())
    .addCommand(jobsTriggerCommand())
    .addCommand(jobsDeleteCommand())
}
