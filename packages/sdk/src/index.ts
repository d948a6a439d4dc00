export type {
  PauseInput,
  JobPatch,
  CalendarList,
  CalendarInput,
  Calendar,
  Brake,
  BrakeInput,
  ClusterView,
  DeadLetter,
  DeadLetterDetail,
  DeadLetterFilter,
  DeadLetterGroup,
  DeadLetterList,
  Event,
  FieldProblem,
  Finding,
  HttpTarget,
  Job,
  JobInput,
  JobList,
  Redrive,
  RedriveFilter,
  RedriveInput,
  Run,
  RunAttempt,
  RunDetail,
  RevealedSigningSecret,
  RotateInput,
  SigningSecret,
  SigningSecretList,
  Target,
  TargetBreaker,
  TargetHost,
  TargetHostList,
  TargetLimits,
  TargetLimitsInput,
  TaskTarget,
  Verification,
  WebhookEnvelope,
  Why,
} from '@carillon/contract'
export type { AccountCalls, VerifyOptions } from './account.js'
export type { CalendarCalls } from './calendars.js'
export type { DeadLetterCalls, DeadLetterQuery } from './dead-letters.js'
export type { TargetCalls } from './targets.js'
export { type Client, type ClientOptions, createClient } from './client.js'
export { type Deduped, type DedupeStore, dedupe, type MemoryStoreOptions, memoryStore } from './dedupe.js'
export type { SigningSecretCalls } from './signing-secrets.js'
export { ApiError, type ApiErrorCode, type ApiErrorFields, ConnectionError } from './errors.js'
export {
  defineTask,
  isNonRetryable,
  NonRetryableError,
  type TaskContext,
  type TaskDefinition,
  type TaskLog,
} from './task.js'
export {
  type VerifiedSignature,
  type VerifyWebhookOptions,
  verifySignature,
  verifyWebhook,
  WebhookError,
  type WebhookErrorCode,
  type WebhookHeaders,
  type WebhookSecret,
} from './webhook.js'
