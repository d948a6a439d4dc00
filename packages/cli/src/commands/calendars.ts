import type { Calendar, CalendarInput } from '@carillon/sdk'
import { Command } from 'commander'
import { clientOf } from '../client.js'
import { parseJson } from '../job-input.js'
import { outputOf, withJson } from '../output/output.js'
import { visible } from '../output/visible.js'
import { readInput } from '../read-input.js'
import { append, withSettings } from '../settings.js'
import { UsageError } from '../usage.js'
import { calendarDetails, calendarTable } from '../views/calendars.js'

export function calendarsCommand(): Command {
  return new Command('calendars')
    .description('Days and stretches of time that jobs leave out by naming a calendar')
    .addCommand(putCommand())
    .addCommand(listCommand())
    .addCommand(getCommand())
    .addCommand(deleteCommand())
}

const examples = `
Examples:
  carillon calendars put holidays --date 2026-12-25 --date 2026-12-31/2027-01-01
  carillon calendars put holidays -f holidays.json`

/** `carillon calendars put NAME` */
function putCommand(): Command {
  const command = new Command('put')
    .description('Make or replace a calendar; every live job that names it follows at once')
    .argument('<name>', 'as jobs name it in --exclude')
    .option('--date <date>', 'a day, or a range of days 2026-12-24/2027-01-02; may be repeated', append)
    .option(
      '-f, --file <file>',
      'JSON {"dates": […], "blackouts": [{"from", "to", "reason"}]}; - reads stdin',
    )
    .addHelpText('after', examples)
  withSettings(withJson(command), 'client')
  command.action(async (name: string) => {
    const output = outputOf(command)
    const client = clientOf(command)
    const calendar = await client.calendars.put(name, await contentOf(command))
    output.result(calendar, () => {
      const { green, bold } = output.look.colors
      return `${green('✓')} Stored ${bold(visible(name))}, version ${calendar.version}: ${namedBy(calendar)}\n`
    })
  })
  return command
}

async function contentOf(command: Command): Promise<CalendarInput> {
  const { date, file } = command.opts<{ date?: string[]; file?: string }>()
  if (file !== undefined && date !== undefined) {
    throw new UsageError('A file holds the whole calendar: leave out --date beside --file.')
  }
  if (file !== undefined) {
    // Whether it is a calendar, and what is wrong with it, the server says.
    return parseJson(
      await readInput(file),
      file === '-' ? 'What came on stdin' : visible(file),
    ) as CalendarInput
  }
  if (date === undefined)
    throw new UsageError('A calendar needs days: --date 2026-12-25, or a file: -f holidays.json')
  return { dates: date }
}

function namedBy({ jobs }: Calendar): string {
  return jobs === 0 ? 'no live job names it' : `${jobs} live ${jobs === 1 ? 'job follows' : 'jobs follow'} it`
}

/** `carillon calendars list` */
function listCommand(): Command {
  const command = new Command('list').description('List the calendars')
  withSettings(withJson(command), 'client')
  command.action(async () => {
    const output = outputOf(command)
    const list = await clientOf(command).calendars.list()
    output.result(list, () => (list.data.length === 0 ? '' : calendarTable(list.data, output.look)))
    if (list.data.length === 0 && !output.json)
      output.note('No calendars yet. Make one: carillon calendars put holidays --date 2026-12-25')
  })
  return command
}

/** `carillon calendars get NAME` */
function getCommand(): Command {
  const command = new Command('get').description('Show one calendar in full').argument('<name>')
  withSettings(withJson(command), 'client')
  command.action(async (name: string) => {
    const output = outputOf(command)
    const calendar = await clientOf(command).calendars.get(name)
    output.result(calendar, () => calendarDetails(calendar, output.look))
  })
  return command
}

/** `carillon calendars delete NAME` */
function deleteCommand(): Command {
  const command = new Command('delete')
    .description('Delete a calendar that no live job names')
    .argument('<name>')
  withSettings(withJson(command), 'client')
  command.action(async (name: string) => {
    const output = outputOf(command)
    await clientOf(command).calendars.delete(name)
    output.result({ name, deleted: true }, () => {
      const { green, bold } = output.look.colors
      return `${green('✓')} Deleted ${bold(visible(name))}\n`
    })
  })
  return command
}
