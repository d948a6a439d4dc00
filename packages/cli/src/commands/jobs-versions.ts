import type { Job, JobVersion, Tick } from '@carillon/sdk'
import { Command } from 'commander'
import { confirm } from '../confirm.js'
import { findJob, findJobId } from '../find-job.js'
import { integerOf } from '../job-input.js'
import type { Look } from '../output/look.js'
import { renderTable } from '../output/table.js'
import { when, whenInZone } from '../output/time.js'
import { visible } from '../output/visible.js'
import { changed } from '../views/jobs.js'
import { clientCommand, showList, upTo, whichJob } from './client-command.js'

/** `carillon jobs versions JOB [VERSION]` */
export function jobsVersionsCommand(): Command {
  return clientCommand<{ limit?: string }>(
    'versions',
    'List the versions of a job, the newest first; with a number, show that definition',
    (command) =>
      command
        .argument('<job>', whichJob)
        .argument('[version]', 'a number')
        .option('--limit <n>', 'how many at most (default 20)'),
    async ({ client, output, flags, args: [given = '', version] }) => {
      const id = await findJobId(client, given)
      if (version === undefined) {
        const list = await upTo(flags.limit, (page) => client.jobs.versions(id, page))
        showList(output, list, versionTable, 'It has no versions.')
        return
      }
      const one = await client.jobs.version(id, integerOf(version, 'The version') ?? 0)
      output.result(
        one,
        () => `${visible(JSON.stringify(one.definition, null, 2)).replaceAll('\\n', '\n')}\n`,
      )
    },
  )
}

function versionTable(versions: readonly JobVersion[], look: Look): string {
  return renderTable<JobVersion>(
    [
      { title: 'VERSION', cell: ({ version, current }) => `${version}${current ? ' (current)' : ''}` },
      { title: `SINCE (${look.timeZone})`, cell: ({ created_at: at }) => when(at, look) },
      { title: 'CHANGED', cell: ({ changed: fields }) => visible(fields.join(', ')) || '–', least: 12 },
    ],
    versions,
    look,
  )
}

/** `carillon jobs rollback JOB VERSION` */
export function jobsRollbackCommand(): Command {
  return clientCommand<{ reason?: string; yes?: boolean }>(
    'rollback',
    'Make an old version the current one again, as a new version',
    (command) =>
      command
        .argument('<job>', whichJob)
        .argument('<version>', 'as jobs versions lists it')
        .option('--reason <text>', 'for the account of changes')
        .option('--yes', 'do not ask'),
    async ({ client, output, flags, args: [given = '', version = ''] }) => {
      const number = integerOf(version, 'The version') ?? 0
      const found = await findJob(client, given, { liveOnly: true })
      const question = `Give ${visible(found.name)} (version ${found.version}) the definition of version ${number}?`
      if (!(await confirm(question, flags))) throw new Error('Nothing was changed.')
      const reason = flags.reason === undefined ? {} : { reason: flags.reason }
      const job = await client.jobs.rollback(found.job_id, number, reason)
      output.result(job, () => changed('Rolled back', job, output.look, `version ${job.version}`))
    },
  )
}

const whichTick = 'its instant, ISO-8601'

/** `carillon jobs ticks JOB`, and below it: skip, move, restore */
export function ticksCommand(): Command {
  return new Command('ticks')
    .description('The ticks that a job has ahead: see them, skip one, move one, or put it back')
    .addCommand(
      clientCommand<{ from?: string; count?: string }>(
        'list',
        'List the next ticks as they will be',
        (command) =>
          command
            .argument('<job>', whichJob)
            .option('--from <instant>', 'begin there, and not now')
            .option('--count <n>', 'how many'),
        async ({ client, output, flags, args: [given = ''] }) => {
          const count = integerOf(flags.count, '--count')
          const ticks = await client.jobs.ticks(await findJobId(client, given), {
            ...(flags.from !== undefined && { from: flags.from }),
            ...(count !== undefined && { count }),
          })
          output.result({ data: ticks, next_cursor: null }, () => tickTable(ticks, output.look))
        },
      ),
    )
    .addCommand(
      clientCommand<{ reason?: string }>(
        'skip',
        'Pass over one tick ahead; the account keeps it as skipped by request',
        (command) =>
          command
            .argument('<job>', whichJob)
            .argument('<tick>', whichTick)
            .option('--reason <text>', 'for people'),
        async ({ client, output, flags, args: [given = '', at = ''] }) => {
          const tick = await client.jobs.skipTick(await findJobId(client, given), at, reasonOf(flags))
          output.result(tick, () => tickTable([tick], output.look))
        },
      ),
    )
    .addCommand(
      clientCommand<{ to: string; reason?: string }>(
        'move',
        'Start one tick ahead at another time; it keeps its due instant',
        (command) =>
          command
            .argument('<job>', whichJob)
            .argument('<tick>', whichTick)
            .requiredOption('--to <instant>', 'when it starts instead')
            .option('--reason <text>', 'for people'),
        async ({ client, output, flags, args: [given = '', at = ''] }) => {
          const tick = await client.jobs.moveTick(
            await findJobId(client, given),
            at,
            flags.to,
            reasonOf(flags),
          )
          output.result(tick, () => tickTable([tick], output.look))
        },
      ),
    )
    .addCommand(
      clientCommand(
        'restore',
        'Take a skip or a move back',
        (command) => command.argument('<job>', whichJob).argument('<tick>', whichTick),
        async ({ client, output, args: [given = '', at = ''] }) => {
          const tick = await client.jobs.restoreTick(await findJobId(client, given), at)
          output.result(tick, () => tickTable([tick], output.look))
        },
      ),
    )
}

function reasonOf({ reason }: { reason?: string }): { reason?: string } {
  return reason === undefined ? {} : { reason }
}

function tickTable(ticks: readonly Tick[], look: Look): string {
  return renderTable<Tick>(
    [
      { title: 'DUE', cell: ({ due_local: local }) => visible(local) },
      { title: 'UTC', cell: ({ due }) => visible(due) },
      {
        title: 'STATE',
        cell: ({ state }) => visible(state),
        paint: (text, { state }) => (state === 'planned' ? text : look.colors.yellow(text)),
      },
      { title: `STARTS (${look.timeZone})`, cell: ({ start_at: at }) => when(at, look) },
      { title: 'NOTE', cell: ({ note }) => visible(note ?? ''), least: 12, optional: true },
    ],
    ticks,
    look,
  )
}

export function cancelledText(job: Job, look: Look): string {
  const { green, bold } = look.colors
  const since = (job as { cancelled_at?: string | null }).cancelled_at
  const at = since == null ? '' : `, ${whenInZone(since, look)}`
  return `${green('✓')} Cancelled ${bold(visible(job.name))} (${visible(job.job_id)})${at}: no further ticks; definition and history stay\n`
}
