import type {
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
  JobFilter,
  JobInput,
  JobPatch,
  JobVersion,
  JobVersionList,
  LeaseAnswer,
  LeaseInput,
  PauseInput,
  PreviewInput,
  Redrive,
  RedriveFilter,
  RedriveInput,
  RedriveList,
  RollbackInput,
  Run,
  RunDetail,
  RunStatus,
  RevealedSigningSecret,
  RotateInput,
  ScheduleExplanation,
  SchedulePreview,
  SigningSecret,
  TargetHost,
  TargetLimitsInput,
  Verification,
  Why,
} from '@carillon/contract'

/** What main.ts hands to the HTTP room. Rules and SQL live behind these; errors come out as CarillonError. */
export interface JobsPort {
  create(tenant: number, input: JobInput): Promise<Job>
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
  trigger(tenant: number, jobId: string): Promise<Run>
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
  get(tenant: number, runId: string): Promise<RunDetail>
  cancel(tenant: number, runId: string): Promise<RunDetail>
  retry(tenant: number, runId: string, input: RedriveInput): Promise<RunDetail>
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

/** Workers over HTTP. */
export interface LeasesPort {
  /** `signal` aborts when the caller hung up before it had the whole answer. */
  lease(tenant: number, input: LeaseInput, signal: AbortSignal): Promise<LeaseAnswer>
  heartbeat(tenant: number, input: HeartbeatInput): Promise<HeartbeatAnswer>
  close(tenant: number, input: CloseInput): Promise<CloseAnswer>
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
  ready(): Promise<{ ready: boolean; checks: Record<string, HealthCheck> }>
}

export interface MetricsPort {
  contentType: string
  render(): Promise<string>
}

export interface ApiPorts {
  jobs: JobsPort
  schedules: SchedulesPort
  calendars: CalendarsPort
  targets: TargetsPort
  runs: RunsPort
  deadLetters: DeadLettersPort
  signingSecrets: SigningSecretsPort
  account: AccountPort
  leases: LeasesPort
}
