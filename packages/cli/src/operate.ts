import type { Operation, OperationInput } from '@carillon/sdk'
import type { Command } from 'commander'
import { clientOf } from './client.js'
import { confirm } from './confirm.js'
import { follow } from './follow.js'
import { type JobFilterFlags, operationFilterOf, withJobFilter } from './job-filter.js'
import { type Output, outputOf } from './output/output.js'
import { visible } from './output/visible.js'
import { UsageError } from './usage.js'
import { matchedText, operationText } from './views/operations.js'

export interface ManyFlags extends JobFilterFlags {
  all?: boolean
  dryRun?: boolean
  yes?: boolean
  wait?: boolean
}

/** The flags by which an action is taken on all jobs that match, and not on one. */
export function withMany(command: Command): Command {
  return withJobFilter(command)
    .option('--all', 'all jobs there are')
    .option('--dry-run', 'of many: count what matches, and do nothing')
    .option('--yes', 'do not ask')
    .option('--no-wait', 'of many: do not wait for the end; the server goes on by itself')
}

/** Whether the flags speak of many jobs. Naming one and a filter as well cannot be meant. */
export function meansMany(given: string | undefined, flags: ManyFlags): boolean {
  const filter = operationFilterOf(flags)
  const some = Object.keys(filter).length > 0
  if (given !== undefined) {
    if (some || flags.all || flags.dryRun)
      throw new UsageError(
        'Name one job, or say which by --search, --tag, --state, --target or --managed-by; not both.',
      )
    return false
  }
  if (some && flags.all) throw new UsageError('--all means every job: leave out the filter, or --all.')
  if (some || flags.all) return true
  throw new UsageError(
    'Name a job, or say which: --search, --tag, --state, --target, --managed-by; or --all if all are meant.',
  )
}

/** One action on all jobs that match: counted, agreed to, carried out by the server, followed to its end. */
export async function operate(
  command: Command,
  action: OperationInput['action'],
  more: Partial<Pick<OperationInput, 'reason' | 'until' | 'tags'>> = {},
): Promise<void> {
  const output = outputOf(command)
  const flags = command.opts<ManyFlags>()
  const client = clientOf(command)
  const input: OperationInput = {
    action,
    filter: operationFilterOf(flags),
    ...(flags.all && { all: true }),
    ...more,
  }
  const count = await client.operations.count(input)
  if (flags.dryRun) {
    output.result(count, () => matchedText(action, count))
    return
  }
  if (!output.json) output.text(matchedText(action, count))
  if (count.matched === 0) {
    output.result({ ...count, operation_id: null }, () => '')
    return
  }
  const many = `${count.matched} ${count.matched === 1 ? 'job' : 'jobs'}`
  if (!(await confirm(`${action} ${many}?`, flags))) throw new Error('Nothing was done.')
  const started = await client.operations.start(input)
  const ended = flags.wait === false ? started : await followed(started, client, output)
  output.result(ended, () => operationText(ended, output.look))
  if (ended.state === 'failed' || ended.failed > 0) process.exitCode = 1
}

function followed(
  operation: Operation,
  { operations }: ReturnType<typeof clientOf>,
  output: Output,
): Promise<Operation> {
  const id = operation.operation_id
  return follow(operation, {
    label: operation.action,
    output,
    look: () => operations.get(id),
    cancel: () => operations.cancel(id),
    later: `carillon operations get ${visible(id)}`,
  })
}
