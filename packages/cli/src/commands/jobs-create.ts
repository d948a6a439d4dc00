import type { Job, JobInput } from '@carillon/sdk'
import { Command } from 'commander'
import { clientOf } from '../client.js'
import { type JobFlags, jobInputOf, parseJson } from '../job-input.js'
import type { Look } from '../output/look.js'
import { outputOf, withJson } from '../output/output.js'
import { whenInZone } from '../output/time.js'
import { visible } from '../output/visible.js'
import { readInput } from '../read-input.js'
import { append, withSettings } from '../settings.js'
import { UsageError } from '../usage.js'
import { jobWarnings } from '../views/jobs.js'

const examples = `
Examples:
  carillon jobs create ping --schedule '@every 5m' --http https://example.com/ping --method GET
  carillon jobs create report --schedule '0 9 * * 1' --timezone Europe/Madrid --task report --payload '{"week":1}'
  carillon jobs create -f job.json`

/** `carillon jobs create`: registers a job from flags, or from a file that holds it as the API takes it. */
export function jobsCreateCommand(): Command {
  const command = new Command('create')
    .description('Register a job')
    .argument('[name]', 'unique among the live jobs')
    .option(
      '-f, --file <file>',
      'JSON of the job as the API takes it; - reads stdin; excludes the flags below',
    )
    .option(
      '--schedule <schedule>',
      'cron "0 9 * * 1", interval "@every 5m", or instant "2026-12-01T09:00:00Z"',
    )
    .option('--timezone <zone>', 'IANA name that the schedule is meant in (default UTC)')
    .option('--http <url>', 'call this URL')
    .option('--method <method>', 'HTTP method (default POST)')
    .option('--header <header>', "'Name: value', sent with every call; may be repeated", append)
    .option('--task <name>', "run this task of a worker (default: the job's name)")
    .option('--payload <json>', 'JSON value given to the target; @file reads a file, - reads stdin')
    .option('--max-retries <n>', 'retries after the first attempt (default 3)')
    .option('--retry-backoff <kind>', 'fixed, linear or exponential (default exponential)')
    .option(
      '--missed-window <policy>',
      'ticks missed in an outage: SKIP, RUN_ONCE or RUN_ALL (default RUN_ONCE)',
    )
    .option('--max-missed <n>', 'most missed ticks that RUN_ALL runs (default 10)')
    .option('--misfire-grace-seconds <n>', 'a tick missed longer ago than this is not run')
    .option('--timeout-seconds <n>', 'time that one attempt has (default 300)')
    .option('--idempotency-key-template <template>', 'default {{job_id}}:{{scheduled_at_unix}}')
    .addHelpText('after', examples)
  withSettings(withJson(command), 'client')
  command.action(async (name: string | undefined) => {
    const output = outputOf(command)
    const client = clientOf(command)
    const job = await client.jobs.create(await inputOf(command, name))
    output.result(job, () => registered(job, output.look))
  })
  return command
}

type CreateOptions = JobFlags & { file?: string }

const othersBesideFile = new Set(['file', 'json', 'url'])

async function inputOf(command: Command, name: string | undefined): Promise<JobInput> {
  const { file, ...flags } = command.opts<CreateOptions>()
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

async function payloadOf({ payload }: JobFlags): Promise<Pick<JobFlags, 'payload'>> {
  if (payload === undefined) return {}
  if (payload === '-') return { payload: await readInput('-') }
  return { payload: payload.startsWith('@') ? await readInput(payload.slice(1)) : payload }
}

function registered(job: Job, look: Look): string {
  const next = job.next_run_at === null ? 'no tick ahead' : `next run ${whenInZone(job.next_run_at, look)}`
  return (
    `${look.colors.green('✓')} Registered ${look.colors.bold(visible(job.name))} (${visible(job.job_id)}): ${next}\n` +
    jobWarnings(job, look)
  )
}
