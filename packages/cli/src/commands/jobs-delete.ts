import { createInterface } from 'node:readline/promises'
import type { Job } from '@carillon/sdk'
import { Command } from 'commander'
import { clientOf } from '../client.js'
import { findJob } from '../find-job.js'
import { outputOf, withJson } from '../output/output.js'
import { visible } from '../output/visible.js'
import { withSettings } from '../settings.js'
import { UsageError } from '../usage.js'

/** `carillon jobs delete JOB`: asks a person; a script says --yes. */
export function jobsDeleteCommand(): Command {
  const command = new Command('delete')
    .description('Delete a job: nothing of it starts any more, what became of its ticks stays')
    .argument('<job>', "a job's id, or the name of a live job")
    .option('--yes', 'do not ask')
  withSettings(withJson(command), 'client')
  command.action(async (given: string) => {
    const output = outputOf(command)
    const yes = command.opts<{ yes?: boolean }>().yes ?? false
    if (!yes && !(process.stdin.isTTY && process.stderr.isTTY)) {
      throw new UsageError('Nobody can be asked here whether to delete the job: add --yes if that is meant.')
    }
    const client = clientOf(command)
    const job = await findJob(client, given, { liveOnly: true })
    if (!yes && !(await confirmed(job))) throw new Error('Nothing was deleted.')
    await client.jobs.delete(job.job_id)
    output.result({ job_id: job.job_id, name: job.name, deleted: true }, () => {
      const name = output.look.colors.bold(visible(job.name))
      return `${output.look.colors.green('✓')} Deleted ${name} (${visible(job.job_id)})\n`
    })
  })
  return command
}

async function confirmed(job: Job): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  // Ctrl-C and Ctrl-D close the input without an answer, and leave the cursor behind the question.
  const closed = new Promise<string>((resolve) => terminal.once('close', () => resolve('\n')))
  try {
    const question = `Delete the job "${visible(job.name)}" (${visible(job.job_id)})? [y/N] `
    const answer = await Promise.race([terminal.question(question), closed])
    if (answer === '\n') process.stderr.write(answer)
    return /^y(es)?$/i.test(answer.trim())
  } finally {
    terminal.close()
  }
}
