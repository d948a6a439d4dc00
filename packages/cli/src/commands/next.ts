import type * as Time from '@carillon/server/time'
import type { PreviewTick, RuleObject, ScheduleInput, ScheduleSource } from '@carillon/server/time'
import { Command } from 'commander'
import { integerOf, parseJson } from '../job-input.js'
import { outputOf, withJson } from '../output/output.js'
import { append } from '../settings.js'
import { refused, UsageError } from '../usage.js'
import { previewText } from '../views/preview.js'

/** Loaded when it is needed: the other commands start faster without it. */
type Engine = typeof Time

const examples = `
Examples:
  carillon next '30 2 * * *' --timezone Europe/Madrid --from 2026-10-24T00:00:00Z
  carillon next '0 9 13 * FRI' --day-match and
  carillon next 'RRULE:FREQ=MONTHLY;BYDAY=-1FR' --dtstart 2026-01-01T09:00:00

An interval without an anchor, and a recurrence rule without --dtstart, begin at --from; those of a job begin when it
is registered.`

const mostTicks = 1000

interface NextFlags {
  timezone: string
  from?: string
  count: string
  dstGap?: string
  dstOverlap?: string
  exclude?: string[]
  onExcluded?: string
  dayMatch?: string
  dtstart?: string
}

/** `carillon next SCHEDULE`: the ticks that a schedule names. Asks no server. */
export function nextCommand(): Command {
  const command = new Command('next')
    .description('Show the next ticks of a schedule, without a server')
    .argument(
      '<schedule>',
      'cron "0 9 * * 1", interval "@every 5m", instant "2026-12-01T09:00:00Z", "RRULE:…", or JSON as the API takes it',
    )
    .option('--tz, --timezone <zone>', 'IANA name of the zone that the schedule is meant in', 'UTC')
    .option(
      '--from <instant>',
      'show the ticks after this instant, or local time or date in --timezone (default now)',
    )
    .option('-n, --count <n>', `how many, at most ${mostTicks}`, '5')
    .option('--dst-gap <policy>', 'a time that the clocks jump over: run_after or skip (default run_after)')
    .option('--dst-overlap <policy>', 'a time shown twice: first, last or both (default first)')
    .option(
      '--exclude <date>',
      'a date "2026-12-25" or range "2026-12-24/2027-01-02"; may be repeated',
      append,
    )
    .option('--on-excluded <policy>', 'exclude, next_business_day or previous_business_day (default exclude)')
    .option('--day-match <how>', 'cron with both day fields: or (either is enough), and (default or)')
    .option('--dtstart <time>', 'where a recurrence rule begins')
    .addHelpText('after', examples)
  withJson(command)
  command.action(async (given: string) => {
    const output = outputOf(command)
    const flags = command.opts<NextFlags>()
    const n = countOf(flags.count)
    const schedule = scheduleOf(given, flags)
    const engine = await import('@carillon/server/time')
    const { ticks, description, warnings } = ask(engine, flags, schedule, n, output.look.now)
    output.result({ ticks, description, warnings }, () =>
      previewText({ ticks, description, warnings }, flags.timezone, output.look),
    )
  })
  return command
}

interface Answer {
  ticks: PreviewTick[]
  description: string
  warnings: string[]
}

function ask(engine: Engine, flags: NextFlags, schedule: ScheduleInput, n: number, now: Date): Answer {
  try {
    engine.checkZone(flags.timezone)
    const from = flags.from === undefined ? wholeSecond(now) : instantOf(engine, flags.from, flags.timezone)
    const source: ScheduleSource = {
      schedule,
      timezone: flags.timezone,
      anchor: from,
      dst_gap: choiceOf(flags.dstGap, engine.dstGaps, '--dst-gap'),
      dst_overlap: choiceOf(flags.dstOverlap, engine.dstOverlaps, '--dst-overlap'),
      exclude: flags.exclude,
      on_excluded: choiceOf(flags.onExcluded, engine.excludedPolicies, '--on-excluded'),
    }
    return { ...engine.preview(source, { from, n }), description: engine.describe(source) }
  } catch (error) {
    throw refused(error, flagOfField)
  }
}

const flagOfField: Readonly<Record<string, string>> = {
  timezone: '--timezone',
  from: '--from',
  exclude: '--exclude',
}

/** The schedule as the API takes it. */
function scheduleOf(given: string, { dayMatch, dtstart }: NextFlags): ScheduleInput {
  const text = given.trim()
  const isRecurrence = /^(RRULE:|FREQ=)/i.test(text)
  const match = choiceOf(dayMatch, ['or', 'and'] as const, '--day-match')
  if (dtstart !== undefined && !isRecurrence) {
    throw new UsageError(
      "--dtstart is where a recurrence rule begins: carillon next 'RRULE:FREQ=DAILY' --dtstart …",
    )
  }
  if (match !== undefined && (isRecurrence || /^[@{[]|^\d{4,}-\d/.test(text))) {
    throw new UsageError(
      "--day-match is about a cron expression with both day fields: carillon next '0 9 13 * FRI'",
    )
  }
  // What is inside, the engine checks.
  if (/^[{[]/.test(text)) return parseJson(text, 'The schedule') as ScheduleInput
  if (isRecurrence) return { rrule: text, ...(dtstart !== undefined && { dtstart }) } satisfies RuleObject
  return match === undefined ? given : { cron: given, day_match: match }
}

function countOf(text: string): number {
  const count = integerOf(text, '--count') ?? 0
  if (count < 1 || count > mostTicks)
    throw new UsageError(`--count is ${count}: 1 to ${mostTicks} is expected.`)
  return count
}

/** With a dash, as flags are written, or an underscore, as the API has it. */
function choiceOf<T extends string>(
  given: string | undefined,
  known: readonly T[],
  flag: string,
): T | undefined {
  if (given === undefined) return undefined
  const found = known.find((value) => value === given.toLowerCase().replaceAll('-', '_'))
  if (found === undefined)
    throw new UsageError(`${flag} is ${JSON.stringify(given)}: use ${known.join(' or ')}.`)
  return found
}

/** Nobody reads the milliseconds of "now" in every tick of an interval. */
function wholeSecond(now: Date): number {
  return Math.floor(now.getTime() / 1000) * 1000
}

/** A date is its first moment. */
function instantOf(engine: Engine, text: string, zone: string): number {
  const given = text.trim()
  const moment = /^\d{4}-\d{2}-\d{2}$/.test(given) ? `${given}T00:00` : given
  return engine.readInstant(moment, '/from', engine.timelineOf(zone))
}
