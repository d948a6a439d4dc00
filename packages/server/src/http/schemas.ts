import {
  AttemptReport,
  Blackout,
  Brake,
  BrakeInput,
  BrakeState,
  Calendar,
  CalendarInput,
  CalendarList,
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
  Finding,
  HeartbeatAnswer,
  HeartbeatInput,
  HttpTarget,
  Job,
  JobFilter,
  JobInput,
  JobList,
  JobPatch,
  Lease,
  LeaseAnswer,
  LeaseInput,
  Operation,
  OperationInput,
  OperationList,
  OperationPreview,
  PauseInput,
  Problem,
  Redrive,
  RedriveFilter,
  RedriveInput,
  RedriveList,
  Run,
  RunArray,
  RunAttempt,
  RunDetail,
  RunList,
  RevealedSigningSecret,
  RotateInput,
  SigningSecret,
  SigningSecretList,
  RunCounts,
  RunRef,
  Stats,
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
  Job,
  JobList,
  Run,
  RunArray,
  RunAttempt,
  RunDetail,
  RunList,
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
  RunCounts,
  Stats,
  JobFilter,
  OperationInput,
  OperationPreview,
  Operation,
  OperationList,
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
