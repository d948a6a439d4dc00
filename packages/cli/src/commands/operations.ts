import { Command } from 'commander'
import { follow } from '../follow.js'
import { findJobId } from '../find-job.js'
import { confirm } from '../confirm.js'
import { integerOf } from '../job-input.js'
import { JobNames } from '../job-names.js'
import { visible } from '../output/visible.js'
import { dayOrMomentOf } from '../moments.js'
import {
  backfillCountText,
  backfillTable,
  backfillText,
  operationTable,
  operationText,
} from '../views/operations.js'
import { clientCommand, showList, upTo, whichJob } from './client-command.js'

export function operationsCommand(): Command {
  return new Command('operations')
    .description('Actions on many jobs at once, as jobs pause --tag … starts them')
    .addCommand(
      clientCommand<{ limit?: string }>(
        'list',
        'List operations, the latest first',
        (command) => command.option('--limit <n>', 'how many at most (default 20)'),
        async ({ client, output, flags }) =>
          showList(
            output,
            await upTo(flags.limit, (page) => client.operations.list(page)),
            operationTable,
            'No operations yet.',
          ),
      ),
    )
    .addCommand(
      clientCommand(
        'get',
        'Show one operation: how far it is, and what failed',
        (command) => command.argument('<operation>'),
        async ({ client, output, args: [id = ''] }) => {
          const operation = await client.operations.get(id)
          output.result(operation, () => operationText(operation, output.look))
        },
      ),
    )
    .addCommand(
      clientCommand(
        'cancel',
        'Stop an operation; what was done stays done',
        (command) => command.argument('<operation>'),
        async ({ client, output, args: [id = ''] }) => {
          const operation = await client.operations.cancel(id)
          output.result(operation, () => operationText(operation, output.look))
        },
      ),
    )
}

export function backfillsCommand(): Command {
  return new Command('backfills')
    .description('Ticks of the past that are run again, as jobs backfill starts them')
    .addCommand(
      clientCommand<{ limit?: string; job?: string }>(
        'list',
        'List backfills, the latest first',
        (command) =>
          command
            .option('--job <job>', `only of this job: ${whichJob}`)
            .option('--limit <n>', 'how many at most (default 20)'),
        async ({ client, output, flags }) => {
          const id = flags.job === undefined ? null : await findJobId(client, flags.job)
          const list = await upTo(flags.limit, (page) =>
            id === null ? client.backfills.list(page) : client.jobs.backfills(id, page),
          )
          const nameOf = await new JobNames(client).of(output.json ? [] : list.data.map((one) => one.job_id))
          showList(output, list, (rows, look) => backfillTable(rows, look, nameOf), 'No backfills yet.')
        },
      ),
    )
    .addCommand(
      clientCommand(
        'get',
        'Show one backfill',
        (command) => command.argument('<backfill>'),
        async ({ client, output, args: [id = ''] }) => {
          const backfill = await client.backfills.get(id)
          const nameOf = await new JobNames(client).of(output.json ? [] : [backfill.job_id])
          output.result(backfill, () => backfillText(backfill, output.look, nameOf))
        },
      ),
    )
    .addCommand(
      clientCommand(
        'cancel',
        'Stop a backfill; what it put into the queue is run',
        (command) => command.argument('<backfill>'),
        async ({ client, output, args: [id = ''] }) => {
          const backfill = await client.backfills.cancel(id)
          output.result(backfill, () => backfillText(backfill, output.look))
        },
      ),
    )
}

interface BackfillFlags {
  from: string
  to?: string
  perMinute?: string
  again?: boolean
  reason?: string
  dryRun?: boolean
  yes?: boolean
  wait?: boolean
}

/** `carillon jobs backfill JOB --from T --to T` */
export function jobsBackfillCommand(): Command {
  return clientCommand<BackfillFlags>(
    'backfill',
    'Run ticks of the past: those that did not succeed, at a pace, counted first',
    (command) =>
      command
        .argument('<job>', whichJob)
        .requiredOption(
          '--from <instant>',
          "the first instant: ISO-8601 or a date (in the job's zone without an offset), or 2d for two days ago",
        )
        .option('--to <instant>', 'the first instant that does not belong to it (default now)')
        .option('--per-minute <n>', 'so many ticks a minute')
        .option('--again', 'also those that succeeded')
        .option('--reason <text>', 'for people who look at it')
        .option('--dry-run', 'count the ticks, and run none')
        .option('--yes', 'do not ask')
        .option('--no-wait', 'do not wait for the end; the server goes on by itself'),
    async ({ client, output, flags, args: [given = ''] }) => {
      const id = await findJobId(client, given)
      const perMinute = integerOf(flags.perMinute, '--per-minute')
      const input = {
        from: dayOrMomentOf(flags.from, output.look.now),
        to: dayOrMomentOf(flags.to ?? 'now', output.look.now),
        ...(perMinute !== undefined && { per_minute: perMinute }),
        ...(flags.again && { only_missing: false }),
        ...(flags.reason !== undefined && { reason: flags.reason }),
      }
      const count = await client.jobs.countBackfill(id, input)
      if (flags.dryRun || count.ticks === 0) {
        output.result(count, () => backfillCountText(count, output.look))
        return
      }
      if (!output.json) output.text(backfillCountText(count, output.look))
      if (!(await confirm(`Run ${count.ticks} ticks of ${visible(given)} again?`, flags)))
        throw new Error('Nothing was run.')
      const begun = await client.jobs.backfill(id, input)
      const backfillId = begun.backfill_id
      const ended =
        flags.wait === false
          ? begun
          : await follow(begun, {
              label: 'backfill',
              output,
              look: () => client.backfills.get(backfillId),
              cancel: () => client.backfills.cancel(backfillId),
              later: `carillon backfills get ${visible(backfillId)}`,
            })
      output.result(ended, () => backfillText(ended, output.look))
      if (ended.failed > 0) process.exitCode = 1
    },
  )
}
