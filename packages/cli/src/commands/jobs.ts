import { Command } from 'commander'
import { jobsBulkCommand } from './jobs-bulk.js'
import { jobsCreateCommand } from './jobs-create.js'
import { jobsDeleteCommand } from './jobs-delete.js'
import { jobsEditCommand } from './jobs-edit.js'
import { jobsGetCommand } from './jobs-get.js'
import { jobsListCommand } from './jobs-list.js'
import { jobsCancelCommand, jobsTagCommand } from './jobs-many.js'
import { jobsPauseCommand, jobsResumeCommand } from './jobs-pause.js'
import { jobsPutCommand } from './jobs-put.js'
import { jobsTriggerCommand } from './jobs-trigger.js'
import { jobsRollbackCommand, jobsVersionsCommand, ticksCommand } from './jobs-versions.js'
import { jobsBackfillCommand } from './operations.js'

export function jobsCommand(): Command {
  return new Command('jobs')
    .description('Register jobs, look at them, change, pause, trigger and delete them')
    .addCommand(jobsCreateCommand())
    .addCommand(jobsPutCommand())
    .addCommand(jobsBulkCommand())
    .addCommand(jobsListCommand())
    .addCommand(jobsGetCommand())
    .addCommand(jobsEditCommand())
    .addCommand(jobsPauseCommand())
    .addCommand(jobsResumeCommand())
    .addCommand(jobsTriggerCommand())
    .addCommand(jobsCancelCommand())
    .addCommand(jobsDeleteCommand())
    .addCommand(jobsTagCommand('tag'))
    .addCommand(jobsTagCommand('untag'))
    .addCommand(jobsVersionsCommand())
    .addCommand(jobsRollbackCommand())
    .addCommand(ticksCommand())
    .addCommand(jobsBackfillCommand())
}
