export type {
  Alert,
  AlertChannel,
  AlertChannelInput,
  AlertChannelList,
  AlertChannelPatch,
  AlertChannelTest,
  AlertList,
  AlertQuery,
  AlertRule,
  AlertRuleInput,
  AlertRuleList,
  AlertRulePatch,
  AlertSilence,
  AlertSilenceInput,
  AlertSilenceList,
  ApiKey,
  AuditEntry,
  AuditQuery,
  Backfill,
  BackfillPlan,
  BackfillInput,
  BulkAnswer,
  BulkInput,
  BulkResult,
  ForecastQuery,
  JobDryRun,
  JobQuery,
  JobVersion,
  KeyInput,
  Role,
  LoadForecast,
  LoadSuggestion,
  Operation,
  OperationPreview,
  OperationFilter,
  OperationInput,
  Page,
  Tick,
  PreviewInput,
  RevealedKey,
  Self,
  RunListQuery,
  RunList,
  ScheduleExplanation,
  SchedulePreview,
  ServiceState,
  ServiceStatus,
  Stats,
  StatsHistory,
  Tenant,
  TenantInput,
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
  JobWarning,
  Redrive,
  RedriveFilter,
  RedriveInput,
  Run,
  RunAttempt,
  RunDetail,
  RunStatus,
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
export type { AlertCalls } from './alerts.js'
export type { CalendarCalls } from './calendars.js'
export type { DeadLetterCalls, DeadLetterQuery } from './dead-letters.js'
export type { TargetCalls } from './targets.js'
export { type Client, createClient } from './client.js'
export type { ClientOptions } from './client-options.js'
export type { InsightCalls } from './insight.js'
export type { IfMatch, JobCalls, RunQuery } from './jobs.js'
export type { OperationCalls, OperationWaitOptions } from './operations.js'
export type { OnceOptions } from './paths.js'
export type { RunEvent, StatsStreamOptions, StreamOptions } from './run-stream.js'
export type { RunCalls } from './runs.js'
export type { TenancyCalls } from './tenancy.js'
export { jobFor, type SyncEntry, SyncError, type SyncJob, type SyncOptions, type SyncPlan } from './sync.js'
export { type Deduped, type DedupeStore, dedupe, type MemoryStoreOptions, memoryStore } from './dedupe.js'
export {
  type Enqueued,
  type EnqueuedTask,
  type EnqueuedTrigger,
  type EnqueueOptions,
  enqueue,
  type SqlClient,
} from './enqueue.js'
export type { SigningSecretCalls } from './signing-secrets.js'
export { ApiError, type ApiErrorCode, type ApiErrorFields, ConnectionError } from './errors.js'
export type { SchemaInput, SchemaIssue, SchemaOutput, StandardSchema } from './standard-schema.js'
export { type StopReason, stopReasonOf, type TaskSignal, TaskStoppedError } from './stop.js'
export { beginTask, InvalidInputError, readInput, runTask } from './task-input.js'
export {
  defineTask,
  isNonRetryable,
  NonRetryableError,
  type PayloadOf,
  type TaskContext,
  type TaskDefinition,
  type TaskLog,
} from './task.js'
export {
  createWorker,
  type HttpWorker,
  type StartOptions,
  type StopOptions,
  type WorkerOptions,
} from './worker/worker.js'
export {
  EffectsUnavailableError,
  EffectsUsageError,
  effectsUnavailable,
  isLeaseLost,
  LeaseLostError,
  type Sql,
  type SqlResult,
  type TaskEffects,
  TransactionLostError,
} from './task-effects.js'
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
