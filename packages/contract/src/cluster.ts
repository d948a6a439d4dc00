import { type Static, Type } from 'typebox'
import { limits } from './limits.js'
import { stringEnum } from './string-enum.js'

const instant = (description: string) => Type.String({ format: 'date-time', description })
const maybeInstant = (description: string) => Type.Union([instant(description), Type.Null()])
const count = (description: string) => Type.Integer({ minimum: 0, description })

/** The operator's order to the whole fleet: wider fire windows, slower catch-up, until it ends by itself. */
export const Brake = Type.Object(
  {
    window_factor: Type.Number({ description: 'Fire windows are so many times as wide' }),
    catch_up_factor: Type.Number({ description: 'Catch-up goes on at this part of its pace; 0 stops it' }),
    reason: Type.String(),
    set_at: instant('When it was set'),
    ends_at: instant('When it ends by itself'),
  },
  { $id: 'Brake' },
)
export type Brake = Static<typeof Brake>

export const BrakeState = Type.Object(
  { brake: Type.Union([Brake, Type.Null()], { description: 'Null where none is in force' }) },
  { $id: 'BrakeState' },
)
export type BrakeState = Static<typeof BrakeState>

export const BrakeInput = Type.Object(
  {
    window_factor: Type.Optional(
      Type.Number({
        minimum: 1,
        maximum: 100,
        default: 1,
        description: 'Fire windows so many times as wide',
      }),
    ),
    catch_up_factor: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: 1,
        default: 1,
        description: 'The part of its pace that catch-up keeps',
      }),
    ),
    reason: Type.String({ minLength: 1, maxLength: limits.name, description: 'For those who find it set' }),
    for_seconds: Type.Optional(
      Type.Integer({ minimum: 1, maximum: limits.brakeSeconds, description: 'How long; or give until' }),
    ),
    until: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        description: 'The end, ISO-8601 with an offset; or give for_seconds',
      }),
    ),
  },
  { $id: 'BrakeInput', additionalProperties: false },
)
export type BrakeInput = Static<typeof BrakeInput>

/** Something that operators should know of, from when it was found until it was over. */
export const Event = Type.Object(
  {
    event: Type.Integer(),
    kind: Type.String({ description: 'A stable word, e.g. large_catch_up, overload, clock_step' }),
    scope: stringEnum(['fleet', 'tenant']),
    subject: Type.String({ description: 'What it is about' }),
    detail: Type.Unknown(),
    raised_at: instant('When it was found'),
    resolved_at: maybeInstant('When it was over; null: it goes on'),
  },
  { $id: 'Event' },
)
export type Event = Static<typeof Event>

export const EventList = Type.Object({ data: Type.Array(Event) }, { $id: 'EventList' })
export type EventList = Static<typeof EventList>

const Node = Type.Object({
  node: Type.String(),
  host: Type.String(),
  pid: Type.Integer(),
  roles: Type.Array(Type.String()),
  tasks: Type.Array(Type.String()),
  state: stringEnum(['alive', 'left', 'dead']),
  code_version: Type.String(),
  started_at: instant('When it joined'),
  ended_at: maybeInstant('When it left or was declared dead'),
  beat_age_ms: count('How long ago its last heartbeat was'),
  partitions: count('How many partitions it holds'),
  report: Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    description: 'What it says of itself: lag, overload, timers in its wheel',
  }),
})

/** A worker over HTTP: no process of the fleet, and never the owner of a partition. */
const RemoteWorker = Type.Object({
  worker_id: Type.String(),
  name: Type.String({ description: 'What it calls itself' }),
  tasks: Type.Array(Type.String()),
  started_at: instant('When it made its first call'),
  beat_age_ms: count('How long ago its last call was'),
  runs: count('How many runs it holds'),
})

const Partition = Type.Object({
  partition: Type.Integer(),
  owner: Type.Union([Type.String(), Type.Null()], { description: 'Null: no live process holds it' }),
  epoch: Type.Integer(),
  expires_in_ms: Type.Union([Type.Integer(), Type.Null()]),
})

export const ClusterView = Type.Object(
  {
    now: instant("The database's clock"),
    nodes: Type.Array(Node, { description: 'Those alive, and those that ended within the last ten minutes' }),
    workers: Type.Object({
      alive: count('Workers over HTTP that are alive'),
      data: Type.Array(RemoteWorker, { description: 'The hundred that came last' }),
    }),
    partitions: Type.Array(Partition),
    unowned: count('Partitions without a live owner: the ticks of their jobs wait'),
    lag_ms: count('How long the oldest tick that is due has waited to be fired'),
    timers_due: count('Partitions that have such a tick'),
    queue: Type.Object({
      total: count('Runs in flight'),
      running: count('Held by a worker, and begun'),
      ready: count('The depth of the queue: due, and any worker with room could take them'),
      waiting: count(
        'Due, and they wait for a place of their job, or for a host that is not called at present',
      ),
      ahead: count('Staged, or waiting for a retry'),
      parked: count('Of paused jobs: they go on when these are resumed'),
      oldest_ready_ms: count('How long the oldest of those that are ready has waited'),
    }),
    replays: Type.Object({
      running: count('Catch-ups that go on'),
      paused: count('Catch-ups of paused jobs'),
      ticks_left: count('What they have still to run'),
    }),
    brake: Type.Union([Brake, Type.Null()]),
    events: Type.Array(Event, { description: 'Those that go on; at most a hundred' }),
  },
  { $id: 'ClusterView' },
)
export type ClusterView = Static<typeof ClusterView>
