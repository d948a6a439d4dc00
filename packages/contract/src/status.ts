import { type Static, Type } from 'typebox'
import { stringEnum } from './string-enum.js'

export const serviceStates = ['ok', 'degraded', 'down'] as const
export type ServiceState = (typeof serviceStates)[number]

/** Stable words: what is wrong. Those that say `down` mean that nothing fires or nothing is recorded. */
export const statusReasons = {
  database_unreachable: 'down',
  no_scheduler: 'down',
  partitions_unowned: 'degraded',
  ticks_late: 'degraded',
  runs_late: 'degraded',
  no_worker: 'degraded',
  owns_nothing: 'degraded',
  numbers_old: 'degraded',
  starting: 'degraded',
  draining: 'degraded',
} as const satisfies Record<string, Exclude<ServiceState, 'ok'>>
export type StatusReason = keyof typeof statusReasons

const ms = (description: string) =>
  Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], { description: `${description}; null: not known` })

/** Whether the fleet does its work, and if not, why: for people and the dashboard. */
export const ServiceStatus = Type.Object(
  {
    state: stringEnum(serviceStates, { description: 'The worst of the reasons; ok without any' }),
    reasons: Type.Array(
      Type.Object({
        code: stringEnum(Object.keys(statusReasons) as StatusReason[], { description: 'A stable word' }),
        state: stringEnum(['degraded', 'down'] as const),
        detail: Type.String({ description: 'In words, with numbers' }),
        runbook: Type.Union([Type.String(), Type.Null()], { description: 'The page of the docs to read' }),
      }),
    ),
    lag_ms: ms('How long the oldest tick that is due and not fired has waited'),
    oldest_ready_ms: ms('How long the oldest run that could start has waited'),
    partitions_unowned: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
      description: 'Partitions that no live scheduler owns; null: not known',
    }),
    counted_ms_ago: ms('How old these three numbers are'),
    alive: Type.Object(
      {
        api: Type.Integer({ minimum: 0 }),
        scheduler: Type.Integer({ minimum: 0 }),
        worker: Type.Integer({ minimum: 0 }),
      },
      { description: 'Live processes by role, as the one that answers sees them' },
    ),
    node: Type.Object(
      {
        node: Type.String(),
        roles: Type.Array(Type.String()),
        version: Type.String(),
        partitions: Type.Integer({ minimum: 0 }),
      },
      { description: 'The process that answers' },
    ),
  },
  { $id: 'ServiceStatus' },
)
export type ServiceStatus = Static<typeof ServiceStatus>
