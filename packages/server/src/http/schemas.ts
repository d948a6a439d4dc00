import {
  AttemptReport,
  Blackout,
  Brake,
  BrakeInput,
  BrakeState,
  Calendar,
  CalendarInput,
  CalendarList,
  CancelJobInput,
  CloseAnswer,
  CloseInput,
  ClusterView,
  CommandTarget,
  DeadLetter,
  DeadLetterDetail,
  DeadLetterGroup,
  DeadLetterGroupList,
  DeadLetterList,
  Discarded,
  Event,
  EventList,
  ExplainInput,
  Finding,
  HeartbeatAnswer,
  HeartbeatInput,
  HttpTarget,
  Job,
  JobInput,
  JobList,
  JobPatch,
  JobUpsertInput,
  JobVersion,
  JobVersionList,
  Lease,
  LeaseAnswer,
  LeaseInput,
  PauseInput,
  PreviewInput,
  PreviewTick,
  Problem,
  Redrive,
  RedriveFilter,
  RedriveInput,
  RedriveList,
  RollbackInput,
  Run,
  RunArray,
  RunAttempt,
  RunDetail,
  RevealedSigningSecret,
  RotateInput,
  ScheduleExplanation,
  SchedulePreview,
  SigningSecret,
  SigningSecretList,
  RunRef,
  Target,
  TargetBreaker,
  TargetHost,
  TargetHostList,
  TargetLimits,
  TargetLimitsInput,
  TaskTarget,
  Verification,
  Why,
} from '@carillon/contract'
import type { FastifyInstance } from 'fastify'

/** The contract's schemas under their $id: what validation refers to, and the components of the OpenAPI document. */
const named: readonly object[] = [
  HttpTarget,
  TaskTarget,
  CommandTarget,
  Target,
  JobInput,
  JobPatch,
  PauseInput,
  CancelJobInput,
  RollbackInput,
  Job,
  JobList,
  JobUpsertInput,
  JobVersion,
  JobVersionList,
  ExplainInput,
  PreviewInput,
  PreviewTick,
  SchedulePreview,
  ScheduleExplanation,
  Run,
  RunArray,
  RunAttempt,
  RunDetail,
  DeadLetter,
  DeadLetterList,
  DeadLetterDetail,
  DeadLetterGroup,
  DeadLetterGroupList,
  RedriveInput,
  RedriveFilter,
  Redrive,
  RedriveList,
  Discarded,
  Blackout,
  CalendarInput,
  Calendar,
  CalendarList,
  SigningSecret,
  SigningSecretList,
  RevealedSigningSecret,
  RotateInput,
  TargetLimitsInput,
  TargetLimits,
  TargetBreaker,
  TargetHost,
  TargetHostList,
  Problem,
  Why,
  Finding,
  Verification,
  Brake,
  BrakeInput,
  BrakeState,
  Event,
  EventList,
  ClusterView,
  RunRef,
  LeaseInput,
  Lease,
  LeaseAnswer,
  HeartbeatInput,
  HeartbeatAnswer,
  AttemptReport,
  CloseInput,
  CloseAnswer,
]
const components = new Map(named.map((schema) => [idOf(schema) ?? '', withReferences(schema)]))

export function addComponents(app: FastifyInstance): void {
  for (const component of components.values()) app.addSchema(component)
}

/** A reference to one of the components. */
export function refTo(schema: object): { $ref: string } {
  return { $ref: `${idOf(schema)}#` }
}

export function componentOf($ref: string): object | undefined {
  return components.get($ref.replace(/#$/, ''))
}

/** The contract nests whole schemas. Here each named one stands once and is referred to by name from then on. */
function withReferences(root: object): object {
  const copy = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value
    if (value !== root && idOf(value) !== undefined) return refTo(value)
    if (Array.isArray(value)) return value.map(copy)
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, copy(item)]))
  }
  return copy(root) as object
}

function idOf(schema: object): string | undefined {
  return (schema as { $id?: string }).$id
}
