import { Command } from 'commander'
import { clientOf } from '../client.js'
import { payloadOf, withJobFlags } from '../job-flags.js'
import { integerOf, type JobFlags, jobInputOf } from '../job-input.js'
import { outputOf, withJson } from '../output/output.js'
import { withSettings } from '../settings.js'
import { changed, warningsOf } from '../views/jobs.js'

/** `carillon jobs put NAME`: makes the job of this name, or gives the one there is this definition. */
export function jobsPutCommand(): Command {
  const command = new Command('put')
    .description(
      'Register a job, or give the one of this name this definition; what is not given has its default',
    )
    .argument('<name>', 'unique among the live jobs')
    .option('--if-version <n>', 'only if this is still its version')
  withJobFlags(command)
  withSettings(withJson(command), 'client')
  command.action(async (name: string) => {
    const output = outputOf(command)
    const flags = command.opts<JobFlags & { ifVersion?: string }>()
    const { name: _name, ...fields } = jobInputOf(name, { ...flags, ...(await payloadOf(flags)) })
    const version = integerOf(flags.ifVersion, '--if-version')
    const job = await clientOf(command).jobs.upsert(
      name,
      fields,
      version === undefined ? {} : { ifVersion: version },
    )
    output.result(job, () => changed('Put', job, output.look, `version ${job.version}`))
    for (const warning of warningsOf(job)) output.note(warning)
  })
  return command
}
