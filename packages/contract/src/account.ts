import { type Static, Type } from 'typebox'
import { stringEnum } from './string-enum.js'

const instant = (description: string) => Type.String({ format: 'date-time', description })
const maybe = <Schema extends ReturnType<typeof Type.String> | ReturnType<typeof Type.Integer>>(
  schema: Schema,
) => Type.Union([schema, Type.Null()])
const maybeInstant = (description: string) => maybe(instant(description))
const count = (description: string) => Type.Integer({ minimum: 0, description })

/** What a tick can have become. `future` and `no_tick` are answers to a question about one instant only. */
export const tickClasses = [
  'ran',
  'late',
  'caught_up',
  'skipped',
  'in_flight',
  'paused',
  'pending',
  'unaccounted',
  'future',
  'no_tick',
  'not_verifiable',
] as const
export type TickClass = (typeof tickClasses)[number]

export const findingKinds = [
  'unaccounted',
  'doubled',
  'unexpected',
  'wrong_count',
  'tz_changed',
  'unreadable',
] as const
export type FindingKind = (typeof findingKinds)[number]

export const Finding = Type.Object(
  {
    job_id: Type.String(),
    job: Type.String({ description: 'The name of the job' }),
    tick: maybeInstant('The instant that the finding is about'),
    kind: stringEnum(findingKinds),
    detail: Type.String({ description: 'What was found, for people' }),
  },
  { $id: 'Finding' },
)
export type Finding = Static<typeof Finding>

/**
 * expected = ran + late + caught_up + skipped + in_flight + paused + pending + unaccounted, always. `ran` is what ran on
 * time: late and caught-up runs are not in it.
 */
export const Verification = Type.Object(
  {
    from: instant('The first instant that was looked at'),
    to: instant('The first instant that was not looked at any more'),
    jobs: count('Jobs whose life touches the range'),
    expected: count('Ticks that the schedules of these jobs name in the range'),
    ran: count('Started on time, whatever came of it'),
    late: count('Started later than the tolerance after their time, without having been missed'),
    caught_up: count('Run after they had been missed'),
    skipped: count('Not run, with a reason on record'),
    in_flight: count('In the queue, or in a catch-up that goes on'),
    paused: count('Of jobs that are paused: decided when they are resumed'),
    pending: count('Due, and not fired yet'),
    unaccounted: count('Nothing says what became of them'),
    doubled: count('On record more than once'),
    unexpected: count('Records of instants that no schedule names'),
    wrong_count: count('Records of several ticks that count them wrongly'),
    tz_changed: count('Records at the instant that an earlier release of the zone data gave the tick'),
    failed: count('Of those that ran, late and caught up: ended as failed or dead'),
    not_verifiable: count('Jobs left out: collected, or with a schedule that cannot be read'),
    skipped_by_reason: Type.Unsafe<Record<string, number>>({
      type: 'object',
      additionalProperties: { type: 'integer' },
    }),
    findings: Type.Array(Finding, { description: 'The first hundred' }),
    notes: Type.Array(Type.String(), { description: 'What was left out, and why' }),
    next_cursor: Type.Union([Type.String(), Type.Null()], {
      description:
        'Not null: the numbers are of a part; the next call with this cursor gives those of the rest',
    }),
  },
  { $id: 'Verification' },
)
export type Verification = Static<typeof Verification>

const Attempt = Type.Object({
  attempt: Type.Integer(),
  round: Type.Integer({ description: '1, and one more for each re-drive' }),
  outcome: Type.String(),
  final: Type.Boolean(),
  reason: maybe(Type.String()),
  error: maybe(Type.String()),
  available_at: maybeInstant('When it could start at the earliest'),
  started_at: maybeInstant('When it started'),
  finished_at: maybeInstant('When it finished'),
  recorded_at: instant('When the database recorded it'),
  worker: maybe(Type.String({ description: 'The process that had it' })),
})

/** What became of one instant of one job, and why. */
export const Why = Type.Object(
  {
    job_id: Type.String(),
    job: Type.String(),
    at: instant('The instant that was asked about'),
    local: Type.String({ description: "The same as the clocks of the job's zone show it" }),
    timezone: Type.String(),
    now: instant("The database's clock"),
    verdict: stringEnum(tickClasses),
    run_id: maybe(Type.String({ description: 'Its run, where there is or was one' })),
    doubled: Type.Boolean({ description: 'It is on record more than once' }),
    summary: Type.String({ description: 'One line: what became of it and why' }),
    reason: maybe(Type.String({ description: 'A stable word' })),
    todo: maybe(Type.String({ description: 'What a person can do about it' })),
    before: maybeInstant('The tick before this instant'),
    after: maybeInstant('The tick after this instant'),
    segment: Type.Union([
      Type.Object({
        version: Type.Integer({ description: "The job's version that names the tick" }),
        from: instant('From when on it applied'),
        to: maybeInstant('Until when; null: still'),
        zone_data: Type.String({
          description: 'The release of the zone data that its ticks were computed with',
        }),
      }),
      Type.Null(),
    ]),
    start_at: maybeInstant('When the run could start: the tick, its jitter and its fire window'),
    fired_at: maybeInstant('When a scheduler turned it into a run'),
    leased_at: maybeInstant('When a worker took it'),
    attempts: Type.Array(Attempt),
    range: Type.Union([
      Type.Object(
        { from: instant('The first tick'), to: instant('The last tick'), ticks: Type.Integer() },
        { description: 'The one record that stands for several ticks' },
      ),
      Type.Null(),
    ]),
    replay: Type.Union([
      Type.Object({
        state: Type.String(),
        reason: Type.String(),
        from: instant('Its first tick'),
        to: instant('Its last tick'),
        position: Type.Integer({ description: 'How many of its ticks come before this one' }),
        done: Type.Integer(),
        total: Type.Integer(),
        per_minute: maybe(Type.Integer({ description: 'Its pace; null: what the governor allows' })),
      }),
      Type.Null(),
    ]),
  },
  { $id: 'Why' },
)
export type Why = Static<typeof Why>
