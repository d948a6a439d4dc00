import { type Static, Type } from 'typebox'

const count = (description: string) => Type.Integer({ minimum: 0, description })
const ms = (description: string) => Type.Integer({ minimum: 0, description })

/** What the ledger got in a stretch of time. */
export const RunCounts = Type.Object(
  {
    fired: count('Runs whose first attempt ended'),
    success: count('Runs that succeeded'),
    failed: count('Attempts that failed, whether another one follows or not'),
    dead: count('Runs that used up their attempts'),
    skipped: count('Ticks that were passed over'),
    lag_ms: Type.Union([
      Type.Object({ p50: ms('Half of them'), p95: ms('19 of 20'), p99: ms('99 of 100'), max: ms('All') }),
      Type.Null(),
    ]),
  },
  {
    $id: 'RunCounts',
    description: 'lag_ms: how late first attempts began, in classes; max is exact. Null: none began',
  },
)
export type RunCounts = Static<typeof RunCounts>

/** How things go, in numbers. */
export const Stats = Type.Object(
  {
    now: Type.String({ format: 'date-time', description: 'When it was counted, by the database clock' }),
    jobs: Type.Object({
      active: count('With a tick ahead'),
      paused: count('Paused'),
      ended: count('Without a tick ahead'),
      cancelled: count('Cancelled'),
    }),
    queue: Type.Object({
      ready: count('The depth of the queue: due, and any worker with room could take them'),
      waiting: count(
        'Due, and they wait for a place of their job, or for a host that is not called at present',
      ),
      running: count('Under way'),
      waiting_retry: count('Failed, and wait for the next attempt'),
      parked: count('Wait until their job is resumed'),
      oldest_ready_ms: Type.Union([ms('How long the oldest of the ready waits'), Type.Null()]),
    }),
    last_minute: RunCounts,
    last_hour: RunCounts,
    dead_letters: count('Runs that wait for somebody to look at them'),
    nodes: Type.Object({ alive: count('Processes of the fleet') }),
    catch_up: Type.Object({ replays: count('Jobs that catch up'), ticks: count('Ticks that are left to') }),
  },
  { $id: 'Stats' },
)
export type Stats = Static<typeof Stats>

export const statsHistoryLimits = { minutes: 120, defaultMinutes: 60, steps: [5, 15, 60] } as const

/** How long the pieces are that a stream of the numbers tells, and for how many minutes a history comes in the same. */
export const statsPieces = { stepSeconds: 5, minutes: 20 } as const

/** How things went: the counts of the last while, piece by piece. */
export const StatsHistory = Type.Object(
  {
    now: Type.String({ format: 'date-time', description: 'By the database clock' }),
    through: Type.String({
      format: 'date-time',
      description: 'Up to where it is counted; three to eight seconds back',
    }),
    step_seconds: count('How long each piece is'),
    data: Type.Array(
      Type.Object({
        at: Type.String({ format: 'date-time', description: 'Where the piece begins' }),
        counts: RunCounts,
      }),
      { description: 'The oldest first. A piece in which nothing ended is left out' },
    ),
  },
  { $id: 'StatsHistory' },
)
export type StatsHistory = Static<typeof StatsHistory>
