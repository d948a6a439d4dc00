import type {
  CarillonError,
  Alert,
  AlertChannel,
  AlertChannelInput,
  AlertChannelList,
  AlertChannelPatch,
  AlertChannelTest,
  AlertList,
  AlertRule,
  AlertRuleInput,
  AlertRuleList,
  AlertRulePatch,
  AlertSilence,
  AlertSilenceInput,
  AlertSilenceList,
  AlertState,
  Backfill,
  BackfillInput,
  BackfillList,
  BackfillPlan,
  ApiKeyList,
  AuditList,
  Brake,
  BrakeInput,
  Calendar,
  CalendarInput,
  CancelJobInput,
  CloseAnswer,
  CloseInput,
  ClusterView,
  DeadLetterDetail,
  DeadLetterFilter,
  DeadLetterGroupList,
  DeadLetterList,
  Event,
  ExplainInput,
  HeartbeatAnswer,
  HeartbeatInput,
  Job,
  JobDryRun,
  JobFilter,
  JobInput,
  JobPatch,
  KeyInput,
  JobVersion,
  JobVersionList,
  LeaseAnswer,
  LeaseInput,
  OnConflict,
  LoadForecast,
  LoadSuggestion,
  MoveInput,
  Operation,
  OperationInput,
  OperationList,
  OperationPreview,
  PauseInput,
  PreviewInput,
  Redrive,
  RedriveFilter,
  RedriveInput,
  RedriveList,
  RollbackInput,
  Run,
  RunDetail,
  RunList,
  RunStatus,
  RevealedKey,
  RevealedSigningSecret,
  RestoreInput,
  Role,
  RotateInput,
  RotateKeyInput,
  ScheduleExplanation,
  SchedulePreview,
  ServiceStatus,
  SigningSecret,
  SkipInput,
  Stats,
  StatsHistory,
  TargetHost,
  TargetLimitsInput,
  Tick,
  TickList,
  Tenant,
  TenantInput,
  TenantList,
  TenantPatch,
  Verification,
  Why,
} from '@carillon/contract'

/** What main.ts hands to the HTTP room. Rules and SQL live behind these; errors come out as CarillonError. */
export interface JobsPort {
  create(tenant: number, input: JobInput): Promise<Job>
  /** A call that may be repeated: a repetition has the answer of the first. */
  createOnce(tenant: number, input: JobInput, call: KeyedCall): Promise<Replayable>
  /** What became of each, in their order. `undone`: nothing was created, because one failed of an atomic call. */
  createMany(
    tenant: number,
    items: readonly BulkItem[],
    options: { atomic: boolean; onConflict: OnConflict },
    inside?: Inside,
  ): Promise<{ outcomes: BulkOutcome[]; undone: boolean }>
  list(tenant: number, query: PageQuery & JobFilter): Promise<{ data: Job[]; next_cursor: string | null }>
  get(tenant: number, jobId: string): Promise<Job>
  getByName(tenant: number, name: string): Promise<Job>
  upsert(
    tenant: number,
    input: JobInput,
    expected: number | 'any' | undefined,
  ): Promise<{ job: Job; created: boolean }>
  versions(tenant: number, jobId: string, query: PageQuery): Promise<JobVersionList>
  version(tenant: number, jobId: string, version: number): Promise<JobVersion>
  rollback(tenant: number, jobId: string, input: RollbackInput): Promise<Job>
  cancel(tenant: number, jobId: string, input: CancelJobInput): Promise<Job>
  delete(tenant: number, jobId: string): Promise<void>
  pause(tenant: number, jobId: string, input: PauseInput): Promise<Job>
  resume(tenant: number, jobId: string): Promise<Job>
  edit(tenant: number, jobId: string, patch: JobPatch): Promise<Job>
  /** What `create` and `edit` would come to: checked as they would be, and nothing is changed. */
  tryCreate(tenant: number, input: JobInput): Promise<JobDryRun>
  tryEdit(tenant: number, jobId: string, patch: JobPatch): Promise<JobDryRun>
  trigger(tenant: number, jobId: string, inside?: Inside): Promise<Run>
}

/** One job of many: as it was sent, or what is wrong with it already. */
export type BulkItem = JobInput | CarillonError

export type BulkOutcome =
  | { status: 'created'; jobId: string; nextRunAt: number }
  | { status: 'skipped' }
  | { status: 'failed'; error: CarillonError }

/** An answer as it is sent, and kept under an idempotency key. */
export interface Answer {
  status: number
  body: string
  location: string | null
}

/** A call with an idempotency key; `request` is a hash of what was asked. */
export interface KeyedCall {
  key: string
  request: Buffer
}

export interface Replayable {
  answer: Answer
  replayed: boolean
}

/** The transaction in which a key is kept. What is in it is no matter of this room: it is handed on to the ports. */
export type Inside = object

/** Calls that have their effect once, however often they are sent. */
export interface IdempotencyPort {
  /** Does the work, or gives the answer that is kept. What the work does `inside` is committed with the answer. */
  once(tenant: number, call: KeyedCall, work: (inside: Inside) => Promise<Answer>): Promise<Replayable>
  /** Keeps the answer of a call that changed nothing. */
  keep(tenant: number, call: KeyedCall, answer: Answer): Promise<void>
}

/** Single ticks of a job that are ahead. */
export interface TicksPort {
  list(tenant: number, jobId: string, query: { from: string | undefined; count: number }): Promise<TickList>
  skip(tenant: number, jobId: string, input: SkipInput): Promise<Tick>
  move(tenant: number, jobId: string, input: MoveInput): Promise<Tick>
  restore(tenant: number, jobId: string, input: RestoreInput): Promise<Tick>
}

/** Ticks that have passed, run on request. */
export interface BackfillsPort {
  plan(tenant: number, jobId: string, input: BackfillInput, inside?: Inside): Promise<BackfillPlan>
  start(tenant: number, jobId: string, input: BackfillInput, inside?: Inside): Promise<Backfill>
  list(tenant: number, query: PageQuery & { jobId?: string }): Promise<BackfillList>
  get(tenant: number, backfillId: string): Promise<Backfill>
  cancel(tenant: number, backfillId: string): Promise<Backfill>
}

/** The load that the schedules will make. */
export interface LoadPort {
  forecast(
    tenant: number,
    query: {
      by: 'minute' | 'hour'
      from?: string | undefined
      target?: string | undefined
      tags?: string[] | undefined
    },
  ): Promise<LoadForecast>
  suggestion(tenant: number): Promise<LoadSuggestion>
}

/** What a schedule means, before a job has it. */
export interface SchedulesPort {
  preview(tenant: number, input: PreviewInput): Promise<SchedulePreview>
  explain(tenant: number, input: ExplainInput): Promise<ScheduleExplanation>
}

export interface CalendarsPort {
  list(tenant: number): Promise<{ data: Calendar[] }>
  get(tenant: number, name: string): Promise<Calendar>
  put(tenant: number, name: string, input: CalendarInput): Promise<Calendar>
  delete(tenant: number, name: string): Promise<void>
}

/** What webhooks are signed with. Only `current` and `rotate` answer a secret. */
export interface SigningSecretsPort {
  list(tenant: number): Promise<{ data: SigningSecret[] }>
  current(tenant: number): Promise<RevealedSigningSecret>
  rotate(tenant: number, input: RotateInput): Promise<RevealedSigningSecret>
  retire(tenant: number, secretId: string): Promise<void>
}

/** To which runs of a job a list is narrowed. Ticks from the one instant on, and before the other. */
export interface RunFilter {
  status?: RunStatus
  after?: string
  before?: string
}

/** The hosts that jobs call: their limits and breakers. */
export interface TargetsPort {
  list(tenant: number, query: PageQuery): Promise<{ data: TargetHost[]; next_cursor: string | null }>
  get(tenant: number, host: string): Promise<TargetHost>
  put(tenant: number, host: string, input: TargetLimitsInput): Promise<TargetHost>
  deleteLimits(tenant: number, host: string): Promise<void>
  reset(tenant: number, host: string): Promise<TargetHost>
}

export interface RunsPort {
  listByJob(
    tenant: number,
    jobId: string,
    query: PageQuery & RunFilter,
  ): Promise<{ runs: Run[]; next_cursor: string | null }>
  /** Of all jobs, or of the one that is named. */
  list(tenant: number, query: PageQuery & RunFilter & { job_id?: string; tags?: string[] }): Promise<RunList>
  get(tenant: number, runId: string): Promise<RunDetail>
  cancel(tenant: number, runId: string): Promise<RunDetail>
  retry(tenant: number, runId: string, input: RedriveInput): Promise<RunDetail>
}

/** What a stream of runs calls. `data` is a Run as JSON; an id says where to go on after it. */
export interface RunSink {
  onRuns: (events: { id: string; data: string }[], place: string) => void
  onGap: (gap: { from: string; to: string; reason: string }, place: string) => void
  onClosing: () => void
}

/** Runs as they begin and end, all over the fleet. */
export interface RunStreamPort {
  /** `from`: the id of the last event that the reader had. Refuses what it cannot stream, before anything is answered. */
  prepare(
    tenant: number,
    of: { jobId: string | null; from: string | null },
  ): Promise<{ start(sink: RunSink): () => void }>
}

/** How things go, in numbers. */
export interface StatsPort {
  get(tenant: number): Promise<Stats>
  /** The history of the last minute; many who ask at once share one look. */
  recent(tenant: number): Promise<StatsHistory>
  history(tenant: number, minutes: number): Promise<StatsHistory>
}

/** One action on many jobs. */
export interface OperationsPort {
  preview(tenant: number, input: OperationInput, inside?: Inside): Promise<OperationPreview>
  start(tenant: number, input: OperationInput, inside?: Inside): Promise<Operation>
  list(tenant: number, query: PageQuery): Promise<OperationList>
  get(tenant: number, operationId: string): Promise<Operation>
  cancel(tenant: number, operationId: string): Promise<Operation>
}

/** Runs that used up their attempts, and their way back into the queue. */
export interface DeadLettersPort {
  list(
    tenant: number,
    query: PageQuery & Pick<DeadLetterFilter, 'job_id' | 'fingerprint'>,
  ): Promise<DeadLetterList>
  groups(tenant: number, query: Pick<DeadLetterFilter, 'job_id'>): Promise<DeadLetterGroupList>
  get(tenant: number, runId: string): Promise<DeadLetterDetail>
  redrive(tenant: number, runId: string, input: RedriveInput): Promise<RunDetail>
  discard(tenant: number, runId: string): Promise<void>
  discardMany(tenant: number, filter: DeadLetterFilter): Promise<number>
  startRedrive(tenant: number, filter: RedriveFilter): Promise<Redrive>
  listRedrives(tenant: number): Promise<RedriveList>
  getRedrive(tenant: number, redrive: number): Promise<Redrive>
  cancelRedrive(tenant: number, redrive: number): Promise<Redrive>
}

/** What became of every tick, and how the fleet is. */
export interface AccountPort {
  why(tenant: number, jobId: string, at: string): Promise<Why>
  verify(
    tenant: number,
    query: { from: string; to: string | undefined; jobId: string | undefined; cursor: string | undefined },
  ): Promise<Verification>
  cluster(tenant: number): Promise<ClusterView>
  events(query: { tenant: number; openOnly: boolean; limit: number }): Promise<Event[]>
  brake(): Promise<Brake | null>
  setBrake(input: BrakeInput): Promise<Brake>
  clearBrake(): Promise<boolean>
}

/** Events that people are told of. */
export interface AlertsPort {
  list(
    tenant: number,
    query: PageQuery & { state?: AlertState; kind?: string; job_id?: string },
  ): Promise<AlertList>
  get(tenant: number, alertId: string): Promise<Alert>
  resolve(tenant: number, alertId: string): Promise<Alert>
}

export interface AlertSilencesPort {
  list(tenant: number): Promise<AlertSilenceList>
  create(tenant: number, input: AlertSilenceInput): Promise<AlertSilence>
  delete(tenant: number, silenceId: string): Promise<void>
}

export interface AlertRulesPort {
  list(tenant: number): Promise<AlertRuleList>
  create(tenant: number, input: AlertRuleInput): Promise<AlertRule>
  change(tenant: number, ruleId: string, patch: AlertRulePatch): Promise<AlertRule>
  delete(tenant: number, ruleId: string): Promise<void>
}

export interface AlertChannelsPort {
  list(tenant: number): Promise<AlertChannelList>
  create(tenant: number, input: AlertChannelInput): Promise<AlertChannel>
  change(tenant: number, channelId: string, patch: AlertChannelPatch): Promise<AlertChannel>
  delete(tenant: number, channelId: string): Promise<void>
  test(tenant: number, channelId: string): Promise<AlertChannelTest>
}

/** Workers over HTTP. */
export interface LeasesPort {
  /** `signal` aborts when the caller hung up before it had the whole answer. */
  lease(tenant: number, input: LeaseInput, signal: AbortSignal): Promise<LeaseAnswer>
  heartbeat(tenant: number, input: HeartbeatInput): Promise<HeartbeatAnswer>
  close(tenant: number, input: CloseInput): Promise<CloseAnswer>
}

/** Who has a key. */
export interface AccessPort {
  /** Whether a call without a key is refused; else it is an admin's of the tenant `default`. */
  readonly required: boolean
  identify(key: string): Promise<{
    tenant: number
    tenantName: string
    role: Role
    name: string
    key: string
    expiresAt: number | null
  } | null>
  /** Aborts within a second after the key opens no more. */
  watch(key: string): { signal: AbortSignal; release: () => void }
}

/** Only `create` and `rotate` answer a key. */
export interface KeysPort {
  create(tenant: number, input: Omit<KeyInput, 'tenant'>): Promise<RevealedKey>
  /** In a tenant by its name, on behalf of the fleet's admin. */
  createFor(tenantName: string, input: Omit<KeyInput, 'tenant'>): Promise<RevealedKey>
  list(tenant: number, query: PageQuery): Promise<ApiKeyList>
  rotate(tenant: number, keyId: string, input: RotateKeyInput): Promise<RevealedKey>
  revoke(tenant: number, keyId: string): Promise<void>
}

/** For the fleet's admins alone: no tenant is named, because all are meant. */
export interface TenantsPort {
  list(query: PageQuery): Promise<TenantList>
  get(name: string): Promise<Tenant>
  create(input: TenantInput): Promise<Tenant>
  change(name: string, patch: TenantPatch): Promise<Tenant>
}

export interface AuditFilter {
  actor?: string
  action?: string
  subject?: string
  after?: string
  before?: string
}

export interface AuditPort {
  list(tenant: number, query: PageQuery & AuditFilter): Promise<AuditList>
}

export interface PageQuery {
  limit: number
  cursor: string | null
}

export interface HealthCheck {
  ok: boolean
  detail?: string
}

export interface HealthPort {
  live(): boolean
  /** Of the whole fleet, as this process knows it; asks nobody. */
  status(): ServiceStatus
  ready(): Promise<{ ready: boolean; checks: Record<string, HealthCheck> }>
}

export interface MetricsPort {
  contentType: string
  render(): Promise<string>
  /** Told of every answer, with the operationId of its call. */
  answered?(operation: string | undefined, status: number, durationMs: number): void
}

export interface ApiPorts {
  jobs: JobsPort
  idempotency: IdempotencyPort
  ticks: TicksPort
  backfills: BackfillsPort
  load: LoadPort
  schedules: SchedulesPort
  calendars: CalendarsPort
  targets: TargetsPort
  runs: RunsPort
  runStreams: RunStreamPort
  operations: OperationsPort
  stats: StatsPort
  deadLetters: DeadLettersPort
  signingSecrets: SigningSecretsPort
  account: AccountPort
  alerts: AlertsPort
  alertSilences: AlertSilencesPort
  alertRules: AlertRulesPort
  alertChannels: AlertChannelsPort
  leases: LeasesPort
  keys: KeysPort
  tenants: TenantsPort
  audit: AuditPort
}
