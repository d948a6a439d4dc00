import { Command } from 'commander'
import { clientOf } from '../client.js'
import { confirm } from '../confirm.js'
import { type FilterFlags, filterOf, withFilter } from '../dead-letter-filter.js'
import { findJobId } from '../find-job.js'
import { limitOf } from '../job-input.js'
import { outputOf, withJson } from '../output/output.js'
import { visible } from '../output/visible.js'
import { withSettings } from '../settings.js'
import { UsageError } from '../usage.js'
import { groupTable, letterDetails, letterTable, listHint } from '../views/dead-letters.js'
import { redriveCommand, redrivesCommand, stopCommand } from './dead-letters-redrive.js'

const examples = `
After an incident:
  carillon dead-letters groups                      what failed, and how often
  carillon dead-letters show RUN                    one of them: error, attempts, payload, target
  carillon dead-letters redrive RUN                 try one; then the rest, slowly, behind a few that go first:
  carillon dead-letters redrive --fingerprint F --canary 5 --rate 10`

export function deadLettersCommand(): Command {
  return new Command('dead-letters')
    .alias('dlq')
    .description('Runs that used up their attempts: understand them, run them again, or discard them')
    .addCommand(listCommand())
    .addCommand(groupsCommand())
    .addCommand(showCommand())
    .addCommand(redriveCommand())
    .addCommand(redrivesCommand())
    .addCommand(stopCommand())
    .addCommand(discardCommand())
    .addHelpText('after', examples)
}

const defaultLimit = 20

/** `carillon dead-letters list` */
function listCommand(): Command {
  const command = new Command('list')
    .description('List dead letters, the latest first')
    .option('--job <job>', 'only of this job: its id, or the name of a live job')
    .option('--fingerprint <fingerprint>', 'only of this error, as groups shows it')
    .option('--limit <n>', `how many at most (default ${defaultLimit})`)
  withSettings(withJson(command), 'client')
  command.action(async () => {
    const output = outputOf(command)
    const client = clientOf(command)
    const { limit, ...flags } = command.opts<FilterFlags & { limit?: string }>()
    const list = await client.deadLetters.list({
      ...(await filterOf(client, flags, output.look.now)),
      limit: limitOf(limit) ?? defaultLimit,
    })
    output.result(list, () => (list.data.length === 0 ? '' : letterTable(list.data, output.look)))
    if (!output.json) output.note(listHint(list))
  })
  return command
}

/** `carillon dead-letters groups` */
function groupsCommand(): Command {
  const command = new Command('groups')
    .description('Group dead letters by what their errors say, the largest first')
    .option('--job <job>', 'only of this job: its id, or the name of a live job')
  withSettings(withJson(command), 'client')
  command.action(async () => {
    const output = outputOf(command)
    const client = clientOf(command)
    const { job } = command.opts<{ job?: string }>()
    const data = await client.deadLetters.groups(
      job === undefined ? {} : { job_id: await findJobId(client, job) },
    )
    output.result({ data }, () => (data.length === 0 ? '' : groupTable(data, output.look)))
    if (output.json) return
    const [first] = data
    output.note(
      first === undefined
        ? 'No dead letters.'
        : `See one: carillon dead-letters show ${visible(first.example.run_id)}`,
    )
  })
  return command
}

/** `carillon dead-letters show RUN` */
function showCommand(): Command {
  const command = new Command('show')
    .description('Show all that is known of a dead letter, and what can be done about it')
    .argument('<run>', 'run_…, as list shows it')
  withSettings(withJson(command), 'client')
  command.action(async (runId: string) => {
    const output = outputOf(command)
    const letter = await clientOf(command).deadLetters.get(runId)
    output.result(letter, () => letterDetails(letter, output.look))
  })
  return command
}

/** `carillon dead-letters discard [RUN]` */
function discardCommand(): Command {
  const command = new Command('discard')
    .description('Discard a dead letter, or all that match; what became of their ticks stays on record')
    .argument('[run]', 'run_…, as list shows it')
  withFilter(command).option('--yes', 'do not ask')
  withSettings(withJson(command), 'client')
  command.action(async (runId: string | undefined) => {
    const output = outputOf(command)
    const client = clientOf(command)
    const { yes, ...flags } = command.opts<FilterFlags & { yes?: boolean }>()
    const filter = await filterOf(client, flags, output.look.now)
    const some = Object.keys(filter).length > 0
    if ((runId === undefined) === !some)
      throw new UsageError('Name one run, or say which: --job, --fingerprint, --after, --before. Not both.')
    const what = runId === undefined ? 'all dead letters that match' : `the dead letter ${visible(runId)}`
    const question = `Discard ${what}? They cannot be run again.`
    if (!(await confirm(question, { ...(yes !== undefined && { yes }) })))
      throw new Error('Nothing was discarded.')
    const discarded =
      runId === undefined
        ? await client.deadLetters.discardAll(filter)
        : await client.deadLetters.discard(runId).then(() => 1)
    output.result({ discarded }, () => `${output.look.colors.green('✓')} Discarded ${discarded}\n`)
  })
  return command
}
