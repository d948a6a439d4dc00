import type { Redrive, RunDetail } from '@carillon/sdk'
import { Command } from 'commander'
import { clientOf } from '../client.js'
import { type FilterFlags, filterOf, withFilter } from '../dead-letter-filter.js'
import { JobNames, type NameOf } from '../job-names.js'
import { payloadOf } from '../job-flags.js'
import { integerOf, parseJson } from '../job-input.js'
import type { Look } from '../output/look.js'
import { outputOf, withJson } from '../output/output.js'
import { visible } from '../output/visible.js'
import { withSettings } from '../settings.js'
import { UsageError } from '../usage.js'
import { redriveDetails, redriveTable } from '../views/dead-letters.js'

const examples = `
Examples:
  carillon dead-letters redrive run_0123…                      one, as it was
  carillon dead-letters redrive run_0123… --payload '{"n":2}'  one, with another payload
  carillon dead-letters redrive run_0123… --current            one, as its job is now (after the job was corrected)
  carillon dead-letters redrive --job billing --canary 5 --rate 20
  carillon dead-letters redrive --all --rate 5`

type RedriveFlags = FilterFlags & {
  all?: boolean
  payload?: string
  current?: boolean
  rate?: string
  canary?: string
}

/** `carillon dead-letters redrive [RUN]` */
export function redriveCommand(): Command {
  const command = new Command('redrive')
    .description(
      'Run a dead letter again, or all that match at a pace; each keeps its tick and its idempotency key',
    )
    .argument('[run]', 'run_…, as list shows it')
  withFilter(command)
    .option('--all', 'all dead letters there are')
    .option('--payload <json>', 'for one run: deliver this instead; @file reads a file, - reads stdin')
    .option('--current', "run the job's current version, not the one that failed")
    .option('--rate <n>', 'of many: so many a second (default 10)')
    .option('--canary <n>', 'of many: so many go first, and the rest only if all of these succeed')
    .addHelpText('after', examples)
  withSettings(withJson(command), 'client')
  command.action(async (runId: string | undefined) => {
    const output = outputOf(command)
    const flags = command.opts<RedriveFlags>()
    if (runId !== undefined) {
      const run = await redriveOne(command, runId, flags)
      output.result(run, () => backInQueue(run, output.look))
    } else {
      const redrive = await redriveMany(command, flags, output.look.now)
      const nameOf = await namesFor(command, [redrive])
      output.result(redrive, () => redriveDetails(redrive, output.look, nameOf))
      if (redrive.total === 0 && !output.json)
        output.note(
          'There is no dead letter that matches: nothing is run again. See: carillon dead-letters list',
        )
    }
  })
  return command
}

async function namesFor(command: Command, redrives: readonly Redrive[]): Promise<NameOf> {
  const { json } = command.opts<{ json?: boolean }>()
  return new JobNames(clientOf(command)).of(json ? [] : redrives.map((one) => one.job_id))
}

async function redriveOne(command: Command, runId: string, flags: RedriveFlags): Promise<RunDetail> {
  const others = ['job', 'fingerprint', 'after', 'before', 'all', 'rate', 'canary'] as const
  const also = others.find((name) => flags[name] !== undefined)
  if (also !== undefined) throw new UsageError(`--${also} is for many: leave it out, or leave out the run.`)
  const { payload } = await payloadOf(flags)
  return clientOf(command).deadLetters.redrive(runId, {
    ...(payload !== undefined && { payload: parseJson(payload, 'The payload') }),
    ...(flags.current && { version: 'current' as const }),
  })
}

async function redriveMany(command: Command, flags: RedriveFlags, now: Date): Promise<Redrive> {
  const client = clientOf(command)
  if (flags.payload !== undefined) throw new UsageError('--payload is for one run: name it.')
  const filter = await filterOf(client, flags, now)
  const some = Object.keys(filter).length > 0
  if (!some && flags.all === undefined)
    throw new UsageError(
      'Name one run, or say which: --job, --fingerprint, --after, --before; or --all if all are meant.',
    )
  if (some && flags.all)
    throw new UsageError('--all means every dead letter: leave out the filter, or --all.')
  const canary = integerOf(flags.canary, '--canary')
  return client.deadLetters.redriveAll({
    ...filter,
    ...(flags.rate !== undefined && { per_second: rateOf(flags.rate) }),
    ...(canary !== undefined && { canary }),
    ...(flags.current && { version: 'current' as const }),
  })
}

function rateOf(text: string): number {
  const rate = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN
  if (Number.isNaN(rate))
    throw new UsageError(`--rate is "${text}", and should be a number such as 10 or 0.5.`)
  return rate
}

function backInQueue(run: RunDetail, { colors }: Look): string {
  const waits = run.reason === 'job_paused' ? ': its job is paused, and it starts when that is resumed' : ''
  return (
    `${colors.green('✓')} Back in the queue: ${visible(run.run_id)}, round ${run.round}${waits}\n` +
    `→ How it goes: carillon runs show ${visible(run.run_id)}\n`
  )
}

/** `carillon dead-letters redrives [NUMBER]` */
export function redrivesCommand(): Command {
  const command = new Command('redrives')
    .description('See how far re-drives of many are')
    .argument('[number]', 'only this one')
  withSettings(withJson(command), 'client')
  command.action(async (text: string | undefined) => {
    const output = outputOf(command)
    const client = clientOf(command)
    if (text !== undefined) {
      const redrive = await client.redrives.get(numberOf(text))
      const nameOf = await namesFor(command, [redrive])
      output.result(redrive, () => redriveDetails(redrive, output.look, nameOf))
      return
    }
    const data = await client.redrives.list()
    const nameOf = await namesFor(command, data)
    output.result({ data }, () => (data.length === 0 ? '' : redriveTable(data, output.look, nameOf)))
    if (data.length === 0 && !output.json) output.note('There was no re-drive of many yet.')
  })
  return command
}

/** `carillon dead-letters stop NUMBER` */
export function stopCommand(): Command {
  const command = new Command('stop')
    .description('Stop a re-drive of many; what is back in the queue stays there')
    .argument('<number>', 'as redrives shows it')
  withSettings(withJson(command), 'client')
  command.action(async (text: string) => {
    const output = outputOf(command)
    const redrive = await clientOf(command).redrives.cancel(numberOf(text))
    output.result(redrive, () => redriveDetails(redrive, output.look))
  })
  return command
}

function numberOf(text: string): number {
  const number = integerOf(text, 'The number of a re-drive')
  if (number === undefined || number < 1)
    throw new UsageError(`"${visible(text)}" is no number of a re-drive.`)
  return number
}
