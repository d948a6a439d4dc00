import type { JobDryRun, JobPatch } from '@carillon/sdk'
import { Command } from 'commander'
import { clientOf } from '../client.js'
import { findJob } from '../find-job.js'
import { payloadOf, withJobFlags } from '../job-flags.js'
import { fieldsOf, integerOf, type JobFlags, parseJson } from '../job-input.js'
import { outputOf, withJson } from '../output/output.js'
import { visible } from '../output/visible.js'
import { readInput } from '../read-input.js'
import { append, withSettings } from '../settings.js'
import { UsageError } from '../usage.js'
import { triedText } from '../views/dry-run.js'
import { changed, warningsOf } from '../views/jobs.js'

const examples = `
Examples:
  carillon jobs edit report --schedule '0 10 * * 1' --timezone Europe/Madrid
  carillon jobs edit report --unset ends_at --unset max_runs
  carillon jobs edit report -f change.json`

/** `carillon jobs edit JOB`: changes what is given, and leaves the rest. */
export function jobsEditCommand(): Command {
  const command = new Command('edit')
    .description('Change fields of a job; the new version holds from its next tick on')
    .argument('<job>', "a job's id, or the name of a live job")
    .option('-f, --file <file>', 'JSON of the fields to change; - reads stdin; excludes the flags of the job')
    .option('--name <name>', 'another name')
    .option('--unset <field>', 'put a field back to its default; may be repeated', append)
    .option('--if-version <n>', 'only if this is still its version')
    .option('--dry-run', 'check everything and show what it would come to; nothing is changed')
  withJobFlags(command).addHelpText('after', examples)
  withSettings(withJson(command), 'client')
  command.action(async (given: string) => {
    const output = outputOf(command)
    const client = clientOf(command)
    const patch = await patchOf(command)
    const found = await findJob(client, given, { liveOnly: true })
    if (command.opts<EditOptions>().dryRun === true) {
      const tried = await client.jobs.tryEdit(found.job_id, patch)
      output.result(tried, () => triedText(tried, editedWords(found.name, tried), output.look))
      return
    }
    const job = await client.jobs.edit(found.job_id, patch)
    output.result(job, () => changed('Edited', job, output.look, `version ${job.version}`))
    for (const warning of warningsOf(job)) output.note(warning)
  })
  return command
}

function editedWords(name: string, { changed, version }: JobDryRun): string {
  const what =
    changed.length === 0 ? 'would stay as it is' : `would get version ${version}: ${changed.join(', ')}`
  return `${visible(name)} ${visible(what)}`
}

type EditOptions = JobFlags & {
  file?: string
  name?: string
  unset?: string[]
  ifVersion?: string
  dryRun?: boolean
}

async function patchOf(command: Command): Promise<JobPatch> {
  const { file, name, unset = [], ifVersion, dryRun: _dryRun, ...flags } = command.opts<EditOptions>()
  const given = {
    ...(name !== undefined && { name }),
    ...fieldsOf({ ...flags, ...(await payloadOf(flags)) }),
    ...Object.fromEntries(unset.map((field) => [field.replaceAll('-', '_'), null])),
  }
  if (file !== undefined && Object.keys(given).length > 0) {
    throw new UsageError('A file holds the whole change: leave out the flags of the job beside --file.')
  }
  const fields = file === undefined ? given : await fromFile(file)
  if (Object.keys(fields).length === 0) {
    throw new UsageError(
      'Nothing is to be changed: give a flag of the job, --unset FIELD, or a file: -f change.json',
    )
  }
  const version = integerOf(ifVersion, '--if-version')
  // Whether these are fields of a job, and what is wrong with them, the server says.
  return { ...fields, ...(version !== undefined && { version }) }
}

async function fromFile(file: string): Promise<object> {
  const what = file === '-' ? 'What came on stdin' : visible(file)
  const value = parseJson(await readInput(file), what)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  throw new UsageError(`${what} is not a JSON object with the fields to change.`)
}
