import type { Job, JobInput } from '@carillon/sdk'
import { Command } from 'commander'
import { clientOf } from '../client.js'
import { type JobFlags, jobInputOf, parseJson } from '../job-input.js'
import type { Look } from '../output/look.js'
import { outputOf, withJson } from '../output/output.js'
import { whenInZone } from '../output/time.js'
import { visible } from '../output/visible.js'
import { readInput } from '../read-input.js'
import { payloadOf, withJobFlags } from '../job-flags.js'
import { withSettings } from '../settings.js'
import { UsageError } from '../usage.js'
import { triedText } from '../views/dry-run.js'
import { warningsOf } from '../views/jobs.js'

const examples = `
Examples:
  carillon jobs create ping --schedule '@every 5m' --http https://example.com/ping --method GET
  carillon jobs create report --schedule '0 9 * * 1' --timezone Europe/Madrid --task report --payload '{"week":1}'
  carillon jobs create -f job.json --dry-run`

/** `carillon jobs create`: registers a job from flags, or from a file that holds it as the API takes it. */
export function jobsCreateCommand(): Command {
  const command = new Command('create')
    .description('Register a job')
    .argument('[name]', 'unique among the live jobs')
    .option(
      '-f, --file <file>',
      'JSON of the job as the API takes it; - reads stdin; excludes the flags below',
    )
    .option('--dry-run', 'check everything and show what it would come to; nothing is registered')
  withJobFlags(command).addHelpText('after', examples)
  withSettings(withJson(command), 'client')
  command.action(async (name: string | undefined) => {
    const output = outputOf(command)
    const client = clientOf(command)
    if (command.opts<CreateOptions>().dryRun === true) {
      const tried = await client.jobs.tryCreate(await inputOf(command, name))
      output.result(tried, () =>
        triedText(tried, `${visible(tried.definition.name)} would be registered`, output.look),
      )
      return
    }
    const job = await client.jobs.create(await inputOf(command, name))
    output.result(job, () => registered(job, output.look))
    for (const warning of warningsOf(job)) output.note(warning)
  })
  return command
}

type CreateOptions = JobFlags & { file?: string; dryRun?: boolean }

const othersBesideFile = new Set(['file', 'dryRun', 'json', 'url', 'profile'])

async function inputOf(command: Command, name: string | undefined): Promise<JobInput> {
  const { file, dryRun: _dryRun, ...flags } = command.opts<CreateOptions>()
  if (file === undefined) return jobInputOf(name, { ...flags, ...(await payloadOf(flags)) })
  const also = Object.keys(command.opts()).filter((option) => !othersBesideFile.has(option))
  if (name !== undefined || also.length > 0) {
    throw new UsageError(
      'A file holds the whole job: leave out the name and the flags of the job beside --file.',
    )
  }
  // Whether it is a job, and what is wrong with it, the server says.
  return parseJson(await readInput(file), file === '-' ? 'What came on stdin' : visible(file)) as JobInput
}

function registered(job: Job, look: Look): string {
  const next = job.next_run_at === null ? 'no tick ahead' : `next run ${whenInZone(job.next_run_at, look)}`
  return `${look.colors.green('✓')} Registered ${look.colors.bold(visible(job.name))} (${visible(job.job_id)}): ${next}\n`
}
